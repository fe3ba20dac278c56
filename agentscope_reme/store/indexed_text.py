"""What of a file is searched: its name, description, tags and headings besides the text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Final

import numpy as np

from agentscope_reme.schema import FileChunk, FileNode
from agentscope_reme.store.term_keys import Keys, TermCounts
from agentscope_reme.store.tokenizers import MemoryTokenizer

NAME_WEIGHT: Final = 3
TAG_WEIGHT: Final = 3
DESCRIPTION_WEIGHT: Final = 2
HEADING_WEIGHT: Final = 2
FILE_NAME_WEIGHT: Final = 1
"""How often one occurrence in a field counts; one in the text counts once."""

_KEPT_FILES: Final = 64
"""Files that grow, whose own terms are asked for at every turn of a conversation."""
_NO_KEYS: Final[Keys] = np.empty(0, np.int64)
_SAID_PICTURE: Final = re.compile(r"session/images/")
"""Pictures named after a message: their names say nothing."""
_INDEX_PAGE: Final = re.compile(r"daily/\d{4}-\d{2}-\d{2}(?:\.md|/interests\.yaml)")
"""Files that repeat what others say: the page of a day, and its topics."""


@dataclass(frozen=True, slots=True)
class FileWords:
    """A file's own terms: weighted for its first chunk, plain for the others, and their number.

    A term of weight n stands n times among `weighted`.
    """

    weighted: Keys
    plain: Keys
    length: int


@dataclass(frozen=True, slots=True)
class ChunkWords:
    """A chunk's terms with weighted counts, and its length in terms."""

    counts: TermCounts
    length: int


class IndexedText:
    """Turns files into what the inverted index takes.

    The whole weight of a file's name, description and tags goes to its first chunk: that file
    is found by them, without all of its chunks crowding out others. The rest get each term once,
    so that a query may name the file and the passage.
    """

    def __init__(self, tokenizer: MemoryTokenizer) -> None:
        self._tokenizer: Final = tokenizer
        self._known_words = lru_cache(_KEPT_FILES)(self.file_words)

    def words(
        self, node: FileNode, chunks: Sequence[FileChunk], *, continued: bool = False
    ) -> list[ChunkWords | None]:
        """For each chunk its terms; ``None`` for those that are never an answer.

        Args:
            node: the file.
            chunks: all of its chunks, or its last ones.
            continued: earlier chunks, which are not given, include an answer.
        """
        if _INDEX_PAGE.fullmatch(node.path):
            return [None] * len(chunks)
        front = node.front_matter
        counted = self._known_words if continued else self.file_words
        file_words = counted(node.path, front.name, front.description, node.tags)
        bodies = [self._tokenizer.keys(chunk.text) for chunk in chunks]
        answers = [
            len(body) > 0 and not chunk.metadata.get("heading_only")
            for body, chunk in zip(bodies, chunks, strict=True)
        ]
        if not continued and not any(
            answers
        ):  # a file of nothing but headings is still worth finding
            answers = [len(body) > 0 for body in bodies]
        words: list[ChunkWords | None] = []
        first = not continued
        known: dict[tuple[str, ...], Keys] = {}
        for chunk, body, is_answer in zip(chunks, bodies, answers, strict=True):
            if is_answer:
                if chunk.headings not in known:
                    known[chunk.headings] = self.heading_keys(chunk.headings)
                words.append(self.chunk_words(body, known[chunk.headings], file_words, first))
            else:
                words.append(None)
            first = first and not is_answer
        return words

    def heading_keys(self, headings: Sequence[str]) -> Keys:
        """The term keys of a heading path."""
        return self._tokenizer.keys("\n".join(headings)) if headings else _NO_KEYS

    def keys(self, text: str) -> Keys:
        """The term keys of a text, repeated as often as they occur."""
        return self._tokenizer.keys(text)

    def file_words(self, path: str, name: str, description: str, tags: Sequence[str]) -> FileWords:
        """The terms every chunk of a file shares."""
        fields = (
            ("" if _SAID_PICTURE.match(path) else PurePosixPath(path).stem, FILE_NAME_WEIGHT),
            (name, NAME_WEIGHT),
            (description, DESCRIPTION_WEIGHT),
            (" ".join(tag.replace("_", " ") for tag in tags), TAG_WEIGHT),
        )
        weighted: list[Keys] = []
        length = 0
        for text, weight in fields:
            if text:
                keys = self._tokenizer.keys(text)
                weighted += [keys] * weight
                length += len(keys)
        if not length:
            return FileWords(_NO_KEYS, _NO_KEYS, 0)
        all_keys = np.concatenate(weighted)
        return FileWords(all_keys, TermCounts.of(all_keys).keys, length)

    def chunk_words(self, body: Keys, headings: Keys, file: FileWords, first: bool) -> ChunkWords:
        """One chunk's terms.

        Args:
            body: the term keys of its text.
            headings: the term keys of its heading path.
            file: the terms of its file.
            first: whether it is the first of its file that can be an answer.
        """
        length = len(body) + file.length + len(headings)
        parts = [body, file.weighted if first else file.plain, *[headings] * HEADING_WEIGHT]
        return ChunkWords(TermCounts.of(np.concatenate(parts)), length)
