"""The vectors of a shared index in seekdb or OceanBase: a table for each embedding space."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from agentscope_reme.store.scaleout.engine import Space
from agentscope_reme.store.scaleout.seekdb_rows import SeekdbRows, batches, marks
from agentscope_reme.store.scaleout.seekdb_schema import Tables, create_space
from agentscope_reme.store.scaleout.seekdb_writing import as_bytes, as_text
from agentscope_reme.store.vectors import Floats

if TYPE_CHECKING:
    from pymysql.cursors import Cursor


class SeekdbVectors(SeekdbRows):
    """What an engine keeps of vectors."""

    def spaces(self, workspace: str) -> list[Space]:
        """The spaces with vectors, the one that was written last first."""
        rows = self.rows(
            f"SELECT name, table_number, width FROM {self.tables(workspace).spaces} "
            "WHERE workspace = %s ORDER BY written DESC",
            as_bytes(workspace),
        )
        return [Space(as_text(name), number, width) for name, number, width in rows]

    def put_vectors(
        self, workspace: str, name: str, vectors: Mapping[str, Floats], width: int
    ) -> None:
        """Store vectors of length 1 by text hash; their space is then the newest."""
        tables, key, space = self.tables(workspace), as_bytes(workspace), as_bytes(name)
        number = self._table_number(tables, space, width)
        rows = [(key, bytes.fromhex(text), _written(array)) for text, array in vectors.items()]

        def put(cursor: Cursor) -> None:
            cursor.execute(
                f"INSERT INTO {tables.spaces} (workspace, name, table_number, width, written) "
                f"SELECT %s, %s, %s, %s, COALESCE(MAX(written), 0) + 1 FROM {tables.spaces} "
                "WHERE workspace = %s ON DUPLICATE KEY UPDATE written = VALUES(written)",
                (key, space, number, width, key),
            )
            for some in batches(rows):
                cursor.executemany(
                    f"INSERT INTO {tables.vectors(number)} (workspace, text_hash, vector) "
                    "VALUES (%s, %s, %s) ON DUPLICATE KEY UPDATE vector = VALUES(vector)",
                    some,
                )

        self.connections.write(put)

    def nearest(
        self, workspace: str, space: Space, vector: Floats, limit: int, *, exact: bool
    ) -> list[tuple[str, float]]:
        """Text hashes with their cosine, best first."""
        asked = _written(vector)
        rows = self.rows(
            "SELECT text_hash, COSINE_DISTANCE(vector, %s) AS apart "
            f"FROM {self.tables(workspace).vectors(space.table)} WHERE workspace = %s "
            "ORDER BY COSINE_DISTANCE(vector, %s) "
            f"{'' if exact else 'APPROXIMATE '}LIMIT {int(limit)}",
            asked,
            as_bytes(workspace),
            asked,
        )
        return [(key.hex(), 1.0 - float(apart)) for key, apart in rows]

    def known_texts(self, workspace: str, text_hashes: Sequence[str]) -> set[str]:
        """Those of some text hashes that a chunk has."""
        found = set[str]()
        for some in batches([bytes.fromhex(key) for key in text_hashes]):
            rows = self.rows(
                f"SELECT DISTINCT text_hash FROM {self.tables(workspace).chunks} "
                f"WHERE workspace = %s AND text_hash IN ({marks(some)})",
                as_bytes(workspace),
                *some,
            )
            found |= {key.hex() for (key,) in rows}
        return found

    def all_texts(self, workspace: str) -> set[str]:
        """The text hash of every chunk."""
        rows = self.rows(
            f"SELECT DISTINCT text_hash FROM {self.tables(workspace).chunks} WHERE workspace = %s",
            as_bytes(workspace),
        )
        return {key.hex() for (key,) in rows}

    def missing(self, workspace: str, space: Space | None, limit: int) -> list[tuple[str, bytes]]:
        """Texts of chunks that can be found without a vector in a space."""
        tables, name = self.tables(workspace), as_bytes(workspace)
        unless, values = _without_vector(tables, name, space)
        rows = self.rows(
            f"SELECT c.text_hash, c.text FROM {tables.chunks} AS c JOIN "
            f"(SELECT MIN(chunk_id) AS one FROM {tables.chunks} AS chunks "
            f"WHERE workspace = %s AND answer >= 0{unless} "
            f"GROUP BY text_hash LIMIT {min(int(limit), 1 << 31)}) AS wanted "
            "ON c.chunk_id = wanted.one WHERE c.workspace = %s",
            name,
            *values,
            name,
        )
        return [(key.hex(), text) for key, text in rows]

    def count_texts(self, workspace: str, space: Space | None) -> tuple[int, int]:
        """How many texts that can be found have a vector in a space, and how many have none."""
        tables, name = self.tables(workspace), as_bytes(workspace)
        counting = (
            f"SELECT COUNT(DISTINCT text_hash) FROM {tables.chunks} AS chunks "
            "WHERE workspace = %s AND answer >= 0"
        )
        total = int(self.rows(counting, name)[0][0])
        if space is None:
            return 0, total
        unless, values = _without_vector(tables, name, space)
        pending = int(self.rows(f"{counting}{unless}", name, *values)[0][0])
        return total - pending, pending

    def prune(self, workspace: str, spaces: Collection[str]) -> None:
        """Forget vectors of texts no chunk has and of other spaces than these."""
        tables, name = self.tables(workspace), as_bytes(workspace)
        for space in self.spaces(workspace):
            table = tables.vectors(space.table)
            if space.name in spaces:
                used = f"SELECT text_hash FROM {tables.chunks} WHERE workspace = %s"
                where = f"WHERE workspace = %s AND text_hash NOT IN ({used})"
                self._change(f"DELETE FROM {table} {where}", name, name)
            else:
                self._change(f"DELETE FROM {table} WHERE workspace = %s", name)
                where = "WHERE workspace = %s AND name = %s"
                self._change(f"DELETE FROM {tables.spaces} {where}", name, as_bytes(space.name))

    def _change(self, statement: str, *values: object) -> None:
        self.connections.write(lambda cursor: cursor.execute(statement, values))

    def _table_number(self, tables: Tables, space: bytes, width: int) -> int:
        """The table of a space, made by the first who writes to it."""

        def look(cursor: Cursor) -> int | None:
            cursor.execute(
                f"SELECT table_number FROM {tables.space_tables} WHERE name = %s AND width = %s",
                (space, width),
            )
            row = cursor.fetchone()
            return None if row is None else int(row[0])

        def make(cursor: Cursor) -> int:
            cursor.execute(
                f"INSERT IGNORE INTO {tables.space_tables} (name, width) VALUES (%s, %s)",
                (space, width),
            )
            number = look(cursor)
            assert number is not None  # noqa: S101 - it was inserted in the line above
            create_space(cursor, tables, number, width)
            return number

        found = self.connections.read(look)
        return self.connections.read(make) if found is None else found


def _without_vector(
    tables: Tables, workspace: bytes, space: Space | None
) -> tuple[str, list[object]]:
    if space is None:
        return "", []
    condition = (
        f" AND NOT EXISTS (SELECT 1 FROM {tables.vectors(space.table)} AS known "
        "WHERE known.workspace = %s AND known.text_hash = chunks.text_hash)"
    )
    return condition, [workspace]


def _written(vector: Floats) -> str:
    return "[" + ",".join(map("{:.7g}".format, vector.tolist())) + "]"
