"""What every engine is given: the same files of chunks, changed files, queries and notes."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.synthetic_corpus import Corpus

CHUNKS_PER_FILE: Final = 10
QUERIES: Final = 1000
QUESTIONS: Final = 1000
CHANGES: Final = 40
NOTE_BYTES: Final = 2700
_SEED: Final = 7
_FRAMES: Final = (
    "What did they say about the {} and the {} {} in the {}?",
    "When did she go to the {} with the {} {}?",
    "Why was the {} {} not {} after the {}?",
    "Which {} did we choose for the {} and the {}?",
    "How many {} were {} at the {} {} last year?",
    "Who told him that the {} would be {} before {}?",
)
"""Questions as people ask them of a conversation: three to five words of substance."""
_COMMONEST: Final = 30
"""So many of the English-like words stand for "the" and "of", which nobody asks for."""
_IDENTIFIER_SHARE: Final = 0.1
"""How many of the chunks name something of a program: a function, a file, an error."""


@dataclass(frozen=True, slots=True)
class Material:
    """A folder written by `write_material`."""

    folder: Path

    @property
    def corpus(self) -> Path:
        """One file a line: ``{"path": ..., "chunks": [text, ...]}``."""
        return self.folder / "corpus.jsonl"

    @property
    def changes(self) -> Path:
        """Files of the corpus with new chunks, as in `corpus`."""
        return self.folder / "changes.jsonl"

    @property
    def queries(self) -> Path:
        """A JSON list of queries."""
        return self.folder / "queries.json"

    @property
    def questions(self) -> Path:
        """A JSON list of whole questions, half of them in Chinese."""
        return self.folder / "questions.json"

    @property
    def notes(self) -> Path:
        """A workspace with Markdown notes below ``digest/wiki``."""
        return self.folder / "notes"


class _Texts(Corpus):
    """The synthetic corpus, with identifiers, and with queries of two or three terms."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._own = random.Random(seed)
        self._identifiers: list[str] = []

    def text(self) -> str:
        plain = super().text()
        if self._own.random() >= _IDENTIFIER_SHARE:
            return plain
        self._identifiers.append(self._identifier())
        return f"{plain}\nSee {self._identifiers[-1]}."

    def query(self) -> str:
        """English words (40 %), two Chinese words (40 %), an identifier and a word (20 %)."""
        kind = self._own.random()
        if kind < 0.4:
            return " ".join(self._english_sample(self._own.randint(2, 3)))
        if kind < 0.8 or not self._identifiers:
            return "".join(self._chinese_sample(2))
        return f"{self._own.choice(self._identifiers)} {self._english_sample(1)[0]}"

    def question(self) -> str:
        """A question in English words, or a sentence of six to ten Chinese words."""
        if self._own.random() < 0.5:
            return f"{''.join(self._chinese_sample(self._own.randint(6, 10)))}？"
        frame = self._own.choice(_FRAMES)
        words = self._english[_COMMONEST:]
        weights = itertools.accumulate(1 / (rank + _COMMONEST) for rank in range(len(words)))
        count = frame.count("{}")
        return frame.format(*self._own.choices(words, cum_weights=list(weights), k=count))

    def _identifier(self) -> str:
        first, second = self._english_sample(2)
        number = self._own.randint(1, 9999)
        match self._own.randint(0, 3):
            case 0:
                return f"{first}_{second}_{number}"
            case 1:
                return f"{first}{second.capitalize()}{number}"
            case 2:
                return f"{first}/{second}{number}.py"
            case _:
                return f"ERR-{number}"


def write_material(folder: Path, *, chunks: int, notes: int) -> Material:
    """Write the same material for the same sizes, whoever reads it.

    Args:
        folder: created when missing.
        chunks: how many chunks the corpus has.
        notes: how many Markdown notes there are.
    """
    folder.mkdir(parents=True, exist_ok=True)
    material = Material(folder)
    texts = _Texts(_SEED)
    files = max(chunks // CHUNKS_PER_FILE, 1)
    _write_files(material.corpus, texts, range(files))
    _write_files(material.changes, texts, [7 * i % files for i in range(CHANGES)])
    _write_list(material.queries, [texts.query() for _ in range(QUERIES)])
    _write_list(material.questions, [texts.question() for _ in range(QUESTIONS)])
    for number in range(notes):
        place = material.notes / note_path(number)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(_note(texts, number), "utf-8")
    return material


def note_path(number: int) -> str:
    """The workspace path of a note."""
    return f"digest/wiki/note-{number}.md"


def note_mark(number: int) -> str:
    """A word that stands in one note only."""
    return f"zq{number}x"


def _write_list(place: Path, texts: list[str]) -> None:
    place.write_text(json.dumps(texts, ensure_ascii=False), "utf-8")


def _write_files(place: Path, texts: Corpus, numbers: Sequence[int]) -> None:
    with place.open("w", encoding="utf-8") as out:
        for number in numbers:
            row = {
                "path": f"digest/wiki/file-{number}.md",
                "chunks": list(texts.texts(CHUNKS_PER_FILE)),
            }
            out.write(json.dumps(row, ensure_ascii=False) + "\n")


def _note(texts: Corpus, number: int) -> str:
    parts = [f"---\nname: note {number}\n---\n# Note {number}\n\nMark {note_mark(number)}.\n"]
    for part, text in enumerate(_endless(texts), start=1):
        parts.append(f"## Part {part}\n\n{text}\n")
        if sum(len(p.encode()) for p in parts) >= NOTE_BYTES:
            break
    return "\n".join(parts).encode()[:NOTE_BYTES].decode("utf-8", "ignore") + "\n"


def _endless(texts: Corpus) -> Iterator[str]:
    while True:
        yield texts.text()
