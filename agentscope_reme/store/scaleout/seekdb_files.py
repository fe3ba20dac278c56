"""The files of a shared index in seekdb or OceanBase."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from agentscope_reme.store.records import FileStamp
from agentscope_reme.store.scaleout.engine import (
    ChunkOutline,
    ChunkRow,
    FileChange,
    FileRow,
    Head,
    Totals,
)
from agentscope_reme.store.scaleout.seekdb_rows import (
    CHUNK,
    FILE,
    OUTLINE,
    SeekdbRows,
    chunk_row,
    file_of,
    outline_of,
)
from agentscope_reme.store.scaleout.seekdb_writing import (
    FileWriter,
    as_bytes,
    as_text,
    target_key,
    upper,
)

if TYPE_CHECKING:
    from pymysql.cursors import Cursor


class SeekdbFiles(SeekdbRows):
    """What an engine keeps of files, and how it changes."""

    def head(self, workspace: str) -> Head:
        """What is kept for the workspace."""
        rows = self.rows(
            f"SELECT owner, revision, settled, answers, length FROM {self.tables(workspace).heads} "
            "WHERE workspace = %s",
            as_bytes(workspace),
        )
        if not rows:
            return Head()
        owner, revision, settled, answers, length = rows[0]
        return Head(owner, revision, bool(settled), answers, length)

    def claim(self, workspace: str, owner: str) -> str:
        """Make it the index of a workspace unless it is another's."""
        heads, name = self.tables(workspace).heads, as_bytes(workspace)

        def claim(cursor: Cursor) -> None:
            cursor.execute(f"INSERT IGNORE INTO {heads} (workspace) VALUES (%s)", (name,))
            cursor.execute(
                f"UPDATE {heads} SET owner = %s WHERE workspace = %s AND owner = ''", (owner, name)
            )

        self.connections.write(claim)
        return self.head(workspace).owner

    def settle(self, workspace: str) -> None:
        """Note that all files were compared with it."""
        statement = f"UPDATE {self.tables(workspace).heads} SET settled = TRUE WHERE workspace = %s"
        self.connections.write(lambda cursor: cursor.execute(statement, (as_bytes(workspace),)))

    def commit(
        self, workspace: str, changes: Sequence[FileChange], gone: Sequence[str] = ()
    ) -> bool:
        """Replace files and forget others, in one transaction."""
        tables = self.tables(workspace)
        return self.connections.write(
            lambda cursor: FileWriter(cursor, tables, as_bytes(workspace)).commit(changes, gone)
        )

    def clear(self, workspace: str) -> None:
        """Forget every file; vectors stay."""
        tables = self.tables(workspace)
        self.connections.write(
            lambda cursor: FileWriter(cursor, tables, as_bytes(workspace)).clear()
        )

    def file(self, workspace: str, path: str) -> FileRow | None:
        """One file."""
        rows = self.rows(
            f"SELECT {FILE} FROM {self.tables(workspace).files} WHERE workspace = %s AND path = %s",
            as_bytes(workspace),
            as_bytes(path),
        )
        return file_of(rows[0]) if rows else None

    def files(self, workspace: str, prefix: str = "") -> list[FileRow]:
        """The files whose path starts with a prefix, sorted by path."""
        rows = self.rows(
            f"SELECT {FILE} FROM {self.tables(workspace).files} "
            "WHERE workspace = %s AND path >= %s AND path < %s ORDER BY path",
            as_bytes(workspace),
            as_bytes(prefix),
            upper(prefix),
        )
        return [file_of(row) for row in rows]

    def stamps(self, workspace: str) -> dict[str, tuple[FileStamp, str]]:
        """Stamp and rules of every file."""
        rows = self.rows(
            f"SELECT path, mtime_ns, size, content_hash, rules FROM {self.tables(workspace).files} "
            "WHERE workspace = %s",
            as_bytes(workspace),
        )
        return {as_text(row[0]): (FileStamp(*row[1:4]), row[4]) for row in rows}

    def outlines(self, workspace: str, prefix: str) -> dict[str, list[ChunkOutline]]:
        """The chunks of the files whose path starts with a prefix, in order."""
        rows = self.rows(
            f"SELECT {OUTLINE} FROM {self.tables(workspace).chunks} "
            "WHERE workspace = %s AND path >= %s AND path < %s ORDER BY path, position",
            as_bytes(workspace),
            as_bytes(prefix),
            upper(prefix),
        )
        grouped = groupby(rows, key=lambda row: row[0])
        return {as_text(path): [outline_of(row) for row in of_path] for path, of_path in grouped}

    def outline(self, workspace: str, path: str) -> list[ChunkOutline]:
        """The chunks of one file, in order."""
        rows = self.rows(
            f"SELECT {OUTLINE} FROM {self.tables(workspace).chunks} "
            "WHERE workspace = %s AND path = %s ORDER BY position",
            as_bytes(workspace),
            as_bytes(path),
        )
        return [outline_of(row) for row in rows]

    def chunks(self, workspace: str, path: str) -> list[ChunkRow]:
        """The chunks of one file in full, in order, without their terms."""
        rows = self.rows(
            f"SELECT {CHUNK} FROM {self.tables(workspace).chunks} "
            "WHERE workspace = %s AND path = %s ORDER BY position",
            as_bytes(workspace),
            as_bytes(path),
        )
        return [chunk_row(row) for row in rows]

    def linking(self, workspace: str, target: str) -> list[FileRow]:
        """The files with a link to a path, sorted by path."""
        tables = self.tables(workspace)
        columns = ", ".join(f"files.{name}" for name in FILE.split(", "))
        rows = self.rows(
            f"SELECT {columns} FROM {tables.links} AS links JOIN {tables.files} AS files "
            "ON files.workspace = links.workspace AND files.path = links.path "
            "WHERE links.workspace = %s AND links.target = %s ORDER BY files.path",
            as_bytes(workspace),
            target_key(target),
        )
        return [file_of(row) for row in rows]

    def totals(self, workspace: str) -> Totals:
        """Counts."""
        tables, name = self.tables(workspace), as_bytes(workspace)
        files, links, chunks = self.rows(
            f"SELECT COUNT(*), COALESCE(SUM(links), 0), "
            f"(SELECT COUNT(*) FROM {tables.chunks} WHERE workspace = %s) "
            f"FROM {tables.files} WHERE workspace = %s",
            name,
            name,
        )[0]
        tags = self.rows(
            f"SELECT tag, COUNT(*) FROM {tables.tags} WHERE workspace = %s GROUP BY tag", name
        )
        return Totals(files, chunks, int(links), {as_text(tag): count for tag, count in tags})
