"""A shared index in Milvus, which has no transactions: what makes a file whole is its own row.

A commit writes the new chunks under a new epoch, then the rows of the files, which name it, and
removes what is left of the old ones. A chunk counts when the row of its file names its epoch, so
that a file is seen either as it was or as it is. The epoch under way stands in the head of the
workspace: whoever finds one there sweeps up after a worker that died.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from agentscope_reme.store.scaleout.engine import OPEN, FoundChunk, Restriction, Space
from agentscope_reme.store.scaleout.milvus_collections import (
    AT_ONCE,
    MilvusAddress,
    Record,
    among,
    hexed,
    unhexed,
)
from agentscope_reme.store.scaleout.milvus_files import MilvusFiles
from agentscope_reme.store.scaleout.milvus_rows import (
    CHUNK,
    chunk_of,
    keys,
    of,
    restricted,
    table_of,
    unpacked,
    vectors_in,
)
from agentscope_reme.store.vectors import Floats

_LOOKS: Final = 2


class MilvusEngine(MilvusFiles):
    """The `Engine` of Milvus.

    A workspace has one writer at a time, as the commit lock of its files sees to.

    Args:
        address: where the server is.

    Raises:
        BadInput: the client is not installed.
    """

    def __init__(self, address: MilvusAddress) -> None:
        super().__init__(address)
        self._users = 0
        self._guard = threading.Lock()

    def open(self) -> None:
        """Connect and make what collections are missing."""
        with self._guard:
            if not self._users:
                self.rows.open()
            self._users += 1

    def close(self) -> None:
        """Let go of the connection with the last user."""
        with self._guard:
            self._users -= 1
            if not self._users:
                self.rows.close()

    def sample(self, workspace: str, size: int) -> list[str]:
        """The terms of so many chunks that can be found, as Milvus comes across them."""
        rows = self.rows.select("chunks", f"{of(workspace)} and answer >= 0", ("terms",), size)
        return [row["terms"] for row in rows]

    def matching(
        self, workspace: str, words: Sequence[str], limit: int, only: Restriction = OPEN
    ) -> list[FoundChunk]:
        """The best chunks with at least one of the words, by Milvus' BM25."""
        found: list[FoundChunk] = []
        for _ in range(_LOOKS):
            rows = self.rows.search(
                "chunks",
                " ".join(words),
                f"{of(workspace)}{restricted(only)}",
                (*CHUNK, "terms"),
                limit,
                anns_field="words",
            )
            found = self._found(workspace, [row for _distance, row in rows])
            if len(found) == len(rows):
                break  # else a file was replaced in between, and its new chunks were not there yet
        return found

    def containing(
        self, workspace: str, characters: Sequence[str], limit: int, only: Restriction = OPEN
    ) -> list[FoundChunk]:
        """Chunks that can be found whose text has at least one of these characters."""
        either = " or ".join(f'text like "%{c}%"' for c in characters if c.isalnum())
        if not either:
            return []
        where = f"{of(workspace)} and answer >= 0 and ({either}){restricted(only)}"
        return self._found(workspace, self.rows.select("chunks", where, (*CHUNK, "terms"), limit))

    def spaces(self, workspace: str) -> list[Space]:
        """The spaces with vectors, the one that was written last first."""
        rows = self.rows.select("spaces", of(workspace), ("name", "width", "written"))
        rows.sort(key=lambda row: -int(row["written"]))
        return [
            Space(unhexed(row["name"]), table_of(row["name"], row["width"]), row["width"])
            for row in rows
        ]

    def put_vectors(
        self, workspace: str, name: str, vectors: Mapping[str, Floats], width: int
    ) -> None:
        """Store vectors of length 1 by text hash; their space is then the newest."""
        written = self.rows.select("spaces", of(workspace), ("name", "written"))
        newest = max((int(row["written"]) for row in written), default=0)
        row: Record = {"name": hexed(name), "width": width, "written": newest + 1}
        collection = vectors_in(table_of(row["name"], width))
        self.rows.make_vectors(collection, width)
        self.rows.put(
            collection,
            [
                {**keys(workspace, text), "text_hash": text, "vector": vector.tolist()}
                for text, vector in vectors.items()
            ],
        )
        self.rows.put("spaces", [{**keys(workspace, name), **row}])

    def nearest(
        self, workspace: str, space: Space, vector: Floats, limit: int, *, exact: bool
    ) -> list[tuple[str, float]]:
        """Text hashes with their cosine, best first; Milvus itself decides how it looks."""
        rows = self.rows.search(
            vectors_in(space.table), vector.tolist(), of(workspace), ("text_hash",), limit
        )
        return [(row["text_hash"], cosine) for cosine, row in rows]

    def with_texts(
        self, workspace: str, text_hashes: Sequence[str], only: Restriction = OPEN
    ) -> list[FoundChunk]:
        """The chunks that can be found and have one of these texts, without their terms."""
        also = f" and answer >= 0{restricted(only)}"
        return self._found(
            workspace, self.with_hashes(workspace, "chunks", text_hashes, CHUNK, also)
        )

    def known_texts(self, workspace: str, text_hashes: Sequence[str]) -> set[str]:
        """Those of some text hashes that a chunk has."""
        rows = self.with_hashes(workspace, "chunks", text_hashes, ("text_hash",))
        return {row["text_hash"] for row in rows}

    def all_texts(self, workspace: str) -> set[str]:
        """The text hash of every chunk."""
        rows = self.rows.select("chunks", of(workspace), ("text_hash",))
        return {row["text_hash"] for row in rows}

    def missing(self, workspace: str, space: Space | None, limit: int) -> list[tuple[str, bytes]]:
        """Texts of chunks that can be found without a vector in a space."""
        wanted = sorted(self._searchable(workspace) - self._embedded(workspace, space))[:limit]
        texts = {
            found.chunk.text_hash: found.chunk.text for found in self.with_texts(workspace, wanted)
        }
        return list(texts.items())

    def count_texts(self, workspace: str, space: Space | None) -> tuple[int, int]:
        """How many texts that can be found have a vector in a space, and how many have none."""
        texts = self._searchable(workspace)
        done = len(texts & self._embedded(workspace, space))
        return done, len(texts) - done

    def prune(self, workspace: str, spaces: Collection[str]) -> None:
        """Forget vectors of texts no chunk has and of other spaces than these, and leftovers."""
        self.swept(workspace)
        texts = self.all_texts(workspace)
        for space in self.spaces(workspace):
            if space.name not in spaces:
                self.rows.delete(vectors_in(space.table), of(workspace))
                self.delete(workspace, "spaces", "name", [hexed(space.name)])
                continue
            unused = self._embedded(workspace, space) - texts
            self.delete(workspace, vectors_in(space.table), "text_hash", sorted(unused))

    def _found(self, workspace: str, rows: Sequence[Record]) -> list[FoundChunk]:
        return [
            FoundChunk(unhexed(row["path"]), chunk_of(row), unpacked(file["record"]))
            for row, file in self.visible(workspace, rows)
        ]

    def _searchable(self, workspace: str) -> set[str]:
        rows = self.rows.select("chunks", f"{of(workspace)} and answer >= 0", ("text_hash",))
        return {row["text_hash"] for row in rows}

    def _embedded(self, workspace: str, space: Space | None) -> set[str]:
        if space is None:
            return set()
        rows = self.rows.select(vectors_in(space.table), of(workspace), ("text_hash",))
        return {row["text_hash"] for row in rows}

    def with_hashes(
        self,
        workspace: str,
        name: str,
        text_hashes: Sequence[str],
        fields: Sequence[str],
        also: str = "",
    ) -> list[Record]:
        """The rows with one of these text hashes."""
        found: list[Record] = []
        for start in range(0, len(text_hashes), AT_ONCE):
            some = among("text_hash", text_hashes[start : start + AT_ONCE])
            found += self.rows.select(name, f"{of(workspace)} and {some}{also}", fields)
        return found
