"""rank-bm25: a plain Python reference, kept as a pickle, without increments."""

from __future__ import annotations

import pickle

import numpy as np
from rank_bm25 import BM25Okapi

from benchmarks.peers.driving import TOP, Engine, File, main
from benchmarks.peers.words import words


class RankBm25Engine(Engine):
    """Every query scores every document."""

    has_increments = False
    saves_by_itself = False

    def open(self) -> None:
        self._texts: list[str] = []
        self._words: list[list[str]] = []
        if (self.home / "index.pickle").exists():
            with (self.home / "index.pickle").open("rb") as kept:
                self._texts, self._ranker = pickle.load(kept)

    def add(self, files: list[File]) -> None:
        for file in files:
            self._texts += file.chunks
            self._words += map(words, file.chunks)

    def finish(self) -> None:
        self._ranker = BM25Okapi(self._words)
        self._words = []

    def search(self, query: str) -> list[str]:
        scores = self._ranker.get_scores(words(query))
        best = np.argsort(-scores)[:TOP]
        return [self._texts[number] for number in best if scores[number] > 0]

    def save(self) -> None:
        with (self.home / "index.pickle").open("wb") as out:
            pickle.dump((self._texts, self._ranker), out)


if __name__ == "__main__":
    main(RankBm25Engine)
