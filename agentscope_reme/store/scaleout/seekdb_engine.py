"""A shared index in seekdb or OceanBase, over the MySQL protocol."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from agentscope_reme.store.scaleout.engine import OPEN, FoundChunk, Restriction
from agentscope_reme.store.scaleout.seekdb_connections import SeekdbAddress
from agentscope_reme.store.scaleout.seekdb_files import SeekdbFiles
from agentscope_reme.store.scaleout.seekdb_rows import (
    CHUNK,
    FOUND,
    batches,
    found_chunk,
    marks,
    restricted,
)
from agentscope_reme.store.scaleout.seekdb_schema import create_tables
from agentscope_reme.store.scaleout.seekdb_vectors import SeekdbVectors
from agentscope_reme.store.scaleout.seekdb_writing import as_bytes


class SeekdbEngine(SeekdbFiles, SeekdbVectors):
    """The `Engine` of seekdb and OceanBase.

    Args:
        address: where the database is.
        shards: sets of tables over which workspaces are spread; cannot be changed later. One is
            right for one server, several dozens for a cluster.

    Raises:
        BadInput: the client is not installed, or `shards` is no positive number.
    """

    def __init__(self, address: SeekdbAddress, *, shards: int = 1) -> None:
        super().__init__(address, shards=shards)
        self._users = 0
        self._guard = threading.Lock()

    def open(self) -> None:
        """Make database and tables that are missing."""
        with self._guard:
            if not self._users:
                self.connections.make_database()
                self.connections.read(lambda cursor: create_tables(cursor, self.shards))
            self._users += 1

    def close(self) -> None:
        """Close the connections with the last user."""
        with self._guard:
            self._users -= 1
            if not self._users:
                self.connections.close()

    def sample(self, workspace: str, size: int) -> list[str]:
        """The terms of so many chunks that can be found: ids are hashes, their order is chance."""
        rows = self.rows(
            f"SELECT terms FROM {self.tables(workspace).chunks} "
            f"WHERE workspace = %s AND answer >= 0 ORDER BY chunk_id LIMIT {int(size)}",
            as_bytes(workspace),
        )
        return [terms for (terms,) in rows]

    def matching(
        self, workspace: str, words: Sequence[str], limit: int, only: Restriction = OPEN
    ) -> list[FoundChunk]:
        """The best chunks with at least one of the words, by the database's own BM25."""
        # Only without other conditions does the database stop at the best. The outer statement
        # compares the workspace, whose words no other one has.
        conditions, values = restricted(only)
        if conditions:
            conditions = f" AND workspace = %s{conditions}"
            values = [as_bytes(workspace), *values]
        asked = " ".join(words)
        return self._found(
            workspace,
            f", MATCH(terms) AGAINST(%s) AS worth FROM {self.tables(workspace).chunks} "
            f"WHERE MATCH(terms) AGAINST(%s){conditions} ORDER BY worth DESC LIMIT {int(limit)}",
            [asked, asked, *values],
        )

    def containing(
        self, workspace: str, characters: Sequence[str], limit: int, only: Restriction = OPEN
    ) -> list[FoundChunk]:
        """Chunks that can be found whose text has at least one of these characters."""
        conditions, values = restricted(only)
        either = " OR ".join(["text LIKE %s"] * len(characters))
        return self._found(
            workspace,
            f" FROM {self.tables(workspace).chunks} WHERE workspace = %s AND answer >= 0 "
            f"AND ({either}){conditions} ORDER BY chunk_id LIMIT {int(limit)}",
            [as_bytes(workspace), *(b"%" + as_bytes(c) + b"%" for c in characters), *values],
        )

    def with_texts(
        self, workspace: str, text_hashes: Sequence[str], only: Restriction = OPEN
    ) -> list[FoundChunk]:
        """The chunks that can be found and have one of these texts."""
        found: list[FoundChunk] = []
        conditions, values = restricted(only)
        for some in batches([bytes.fromhex(key) for key in text_hashes]):
            found += self._found(
                workspace,
                f" FROM {self.tables(workspace).chunks} WHERE workspace = %s "
                f"AND text_hash IN ({marks(some)}) AND answer >= 0{conditions}",
                [as_bytes(workspace), *some, *values],
                terms="NULL AS terms",
            )
        return found

    def _found(
        self, workspace: str, which: str, values: Sequence[object], *, terms: str = "terms"
    ) -> list[FoundChunk]:
        """Chunks with their files: ``SELECT columns`` goes before `which`."""
        rows = self.rows(
            f"SELECT {FOUND} FROM (SELECT workspace, path, {CHUNK}, {terms}{which}) "
            f"AS found JOIN {self.tables(workspace).files} AS files "
            "ON files.workspace = found.workspace AND files.path = found.path "
            "WHERE found.workspace = %s",
            *values,
            as_bytes(workspace),
        )
        return list(map(found_chunk, rows))
