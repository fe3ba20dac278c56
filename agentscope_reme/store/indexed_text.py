"""What of a file is searched: its name, description, tags and headings besides the text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from agentscope_reme.schema import FileChunk, FileNode
from agentscope_reme.store.tokenizers import MemoryTokenizer

NAME_WEIGHT: Final = 3
TAG_WEIGHT: Final = 3
DESCRIPTION_WEIGHT: Final = 2
HEADING_WEIGHT: Final = 2
FILE_NAME_WEIGHT: Final = 1
"""How often one occurrence in a field counts; one in the text counts once."""

_INDEX_PAGE: Final = re.compile(r"daily/\d{4}-\d{2}-\d{2}\.md")


@dataclass(frozen=True, slots=True)
class FileWords:
    """A file's own terms: weighted for its first chunk, plain for the others, and their number."""

    weighted: Counter[int]
    plain: Counter[int]
    length: int


@dataclass(frozen=True, slots=True)
class ChunkWords:
    """A chunk's terms with weighted counts, and its length in terms."""

    counts: Counter[int]
    length: int


class IndexedText:
    """Turns files into what the inverted index takes.

    The whole weight of a file's name, description and tags goes to its first chunk: that file
    is found by them, without all of its chunks crowding out others. The rest get each term once,
    so that a query may name the file and the passage.
    """

    def __init__(self, tokenizer: MemoryTokenizer) -> None:
        self._tokenizer: Final = tokenizer

    def words(self, node: FileNode, chunks: Sequence[FileChunk]) -> list[ChunkWords | None]:
        """For each chunk its terms; ``None`` for those that are never an answer."""
        if _INDEX_PAGE.fullmatch(node.path):
            return [None] * len(chunks)
        front = node.front_matter
        file_words = self.file_words(node.path, front.name, front.description, node.tags)
        bodies = [self._tokenizer.count_keys(chunk.text) for chunk in chunks]
        answers = [
            bool(body) and not chunk.metadata.get("heading_only")
            for body, chunk in zip(bodies, chunks, strict=True)
        ]
        if not any(answers):  # a file of nothing but headings is still worth finding
            answers = [bool(body) for body in bodies]
        words: list[ChunkWords | None] = []
        first = True
        for chunk, body, is_answer in zip(chunks, bodies, answers, strict=True):
            words.append(
                self.chunk_words(body, chunk.headings, file_words, first) if is_answer else None
            )
            first = first and not is_answer
        return words

    def count(self, text: str) -> Counter[int]:
        """The term keys of a text."""
        return self._tokenizer.count_keys(text)

    def file_words(self, path: str, name: str, description: str, tags: Sequence[str]) -> FileWords:
        """The terms every chunk of a file shares."""
        fields = (
            (PurePosixPath(path).stem, FILE_NAME_WEIGHT),
            (name, NAME_WEIGHT),
            (description, DESCRIPTION_WEIGHT),
            (" ".join(tag.replace("_", " ") for tag in tags), TAG_WEIGHT),
        )
        weighted: Counter[int] = Counter()
        length = 0
        for text, weight in fields:
            for key, count in self._tokenizer.count_keys(text).items():
                weighted[key] += count * weight
                length += count
        return FileWords(weighted, Counter(dict.fromkeys(weighted, 1)), length)

    def chunk_words(
        self, body: Counter[int], headings: Sequence[str], file: FileWords, first: bool
    ) -> ChunkWords:
        """One chunk's terms.

        Args:
            body: the counted terms of its text; changed by the call.
            headings: its heading path.
            file: the terms of its file.
            first: whether it is the first of its file that can be an answer.
        """
        length = body.total() + file.length
        for key, count in self._tokenizer.count_keys("\n".join(headings)).items():
            body[key] += count * HEADING_WEIGHT
            length += count
        body.update(file.weighted if first else file.plain)
        return ChunkWords(body, length)
