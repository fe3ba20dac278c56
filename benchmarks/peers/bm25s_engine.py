"""bm25s: an index of scores computed beforehand, built once, without increments."""

from __future__ import annotations

import json

import bm25s

from benchmarks.peers.driving import TOP, Engine, File, main
from benchmarks.peers.words import words


class Bm25sEngine(Engine):
    """Saved as a snapshot; the texts stand in a JSON file next to it."""

    has_increments = False
    saves_by_itself = False

    def open(self) -> None:
        self._texts: list[str] = []
        self._words: list[list[str]] = []
        self._ranker = None
        if (self.home / "texts.json").exists():
            self._ranker = bm25s.BM25.load(self.home)
            self._texts = json.loads((self.home / "texts.json").read_text("utf-8"))

    def add(self, files: list[File]) -> None:
        for file in files:
            self._texts += file.chunks
            self._words += map(words, file.chunks)

    def finish(self) -> None:
        self._ranker = bm25s.BM25()
        self._ranker.index(self._words, show_progress=False)
        self._words = []

    def search(self, query: str) -> list[str]:
        known = self._ranker.vocab_dict
        terms = [word for word in words(query) if word in known]
        if not terms:
            return []
        found, scores = self._ranker.retrieve(
            [terms], k=min(TOP, len(self._texts)), show_progress=False
        )
        pairs = zip(found[0].tolist(), scores[0].tolist(), strict=True)
        return [self._texts[number] for number, score in pairs if score > 0]

    def save(self) -> None:
        self._ranker.save(self.home)
        (self.home / "texts.json").write_text(json.dumps(self._texts), "utf-8")


if __name__ == "__main__":
    main(Bm25sEngine)
