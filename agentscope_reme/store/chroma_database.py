"""Vectors by text hash in an embedded Chroma database, in a folder of their own.

Chroma is not made for two folders of one path in a process, so a database that is given up is
followed by one in a new folder, ``chroma-<number>``.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import chromadb
import numpy as np
from chromadb.config import Settings as ChromaSettings
from chromadb.errors import ChromaError

from agentscope_reme.errors import StorageFailed
from agentscope_reme.store.vectors import Floats

Hit = tuple[str, float]

_COLLECTION: Final = "vectors"
_FILE: Final = "chroma.sqlite3"
_NAME: Final = re.compile(r"chroma-(\d+)")
_taken: Final[set[str]] = set()
"""Folders Chroma was opened in by this process; it goes on with the files it opened, also when they
are gone."""

_FAULTS: Final = (ChromaError, OSError, RuntimeError, ValueError, TypeError)
"""What Chroma raises when its files are not as it left them."""


class ChromaDatabase:
    """The vectors of one space; made when first needed.

    Every method raises `StorageFailed` when Chroma refuses; `start_anew` is then what helps.

    Args:
        folder: where the numbered folders go.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._client: Any = None
        self._collection: Any = None

    @property
    def width(self) -> int | None:
        """Numbers per vector; ``None`` while there are none."""
        return self._told("width")

    def forget(self) -> None:
        """Open it anew at the next need."""
        self._client = self._collection = None

    @property
    def is_there(self) -> bool:
        """Whether its files are on the disk."""
        return any((self._place(number) / _FILE).is_file() for number in self._numbers())

    def count(self) -> int:
        """How many texts have a vector."""
        return int(self._asked(lambda: self._opened().count()))

    def put(self, vectors: Mapping[str, Floats]) -> None:
        """Add or replace normalised vectors, all of one width."""
        if not vectors:
            return
        width = len(next(iter(vectors.values())))

        def write() -> None:
            collection = self._opened()
            if self.width is None:
                collection.modify(metadata={"width": width})
            keys = list(vectors)
            most = self._client.get_max_batch_size()
            for start in range(0, len(keys), most):
                part = keys[start : start + most]
                rows = [vectors[key] for key in part]
                collection.upsert(ids=part, embeddings=rows)

        self._asked(write)

    def nearest(self, vector: Floats, count: int) -> list[Hit]:
        """About the `count` nearest texts, with their exact cosines, best first."""

        def ask() -> list[Hit]:
            found = self._opened().query(
                query_embeddings=[vector], n_results=count, include=["embeddings"]
            )
            rows = np.asarray(found["embeddings"][0], np.float32).reshape(-1, len(vector))
            scores = (rows @ vector).tolist()
            return sorted(zip(found["ids"][0], scores, strict=True), key=lambda hit: -hit[1])

        hits: list[Hit] = self._asked(ask)
        return hits

    def all(self, batch: int = 1000) -> Iterator[dict[str, Floats]]:
        """Every vector, in batches."""
        for start in range(0, self.count(), batch):
            found = self._asked(
                lambda start=start: self._opened().get(
                    limit=batch, offset=start, include=["embeddings"]
                )
            )
            rows = np.asarray(found["embeddings"], np.float32)
            yield dict(zip(found["ids"], rows, strict=True))

    def delete(self, keys: Sequence[str]) -> None:
        """Remove the vectors of some texts."""

        def remove() -> None:
            most = self._client.get_max_batch_size()
            for start in range(0, len(keys), most):
                self._opened().delete(ids=list(keys[start : start + most]))

        if keys:
            self._opened_client()
            self._asked(remove)

    def texts(self) -> list[str]:
        """The hashes of all texts that have a vector."""
        return list(self._asked(lambda: self._opened().get(include=[])["ids"]))

    def start_anew(self, kept: Mapping[str, Floats] | None = None) -> None:
        """Go on in a new folder, with some vectors or none; the old folders go."""
        old = self._numbers()
        self.forget()
        self._free_place().mkdir(parents=True)
        self.put(kept or {})
        for number in old:
            shutil.rmtree(self._place(number), ignore_errors=True)

    def _told(self, name: str) -> int | None:
        value = (self._asked(self._opened).metadata or {}).get(name)
        return None if value is None else int(value)

    def _opened(self) -> Any:
        if self._collection is None:
            self._collection = self._opened_client().get_or_create_collection(
                _COLLECTION, embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
            )
        return self._collection

    def _opened_client(self) -> Any:
        if self._client is None:
            numbers = self._numbers()
            place = self._place(numbers[-1]) if numbers else self._free_place()
            place.mkdir(parents=True, exist_ok=True)
            _taken.add(str(place))
            quiet = ChromaSettings(anonymized_telemetry=False)
            self._client = chromadb.PersistentClient(str(place), settings=quiet)
        return self._client

    def _numbers(self) -> list[int]:
        places = self._folder.iterdir() if self._folder.is_dir() else ()
        found = (_NAME.fullmatch(place.name) for place in places)
        return sorted(int(match[1]) for match in found if match)

    def _free_place(self) -> Path:
        number = max(self._numbers(), default=0) + 1
        while str(self._place(number)) in _taken:
            number += 1
        return self._place(number)

    def _place(self, number: int) -> Path:
        return self._folder / f"chroma-{number}"

    def _asked(self, work: Any) -> Any:
        try:
            return work()
        except _FAULTS as error:
            self.forget()
            raise StorageFailed(
                str(self._folder), f"Chroma refused: {error}", "Its vectors are made anew."
            ) from error
