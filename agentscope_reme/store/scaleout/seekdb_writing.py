"""Replacing files in the tables of a shared index, inside one transaction."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from agentscope_reme.store.records import FileStamp
from agentscope_reme.store.scaleout.engine import ChunkRow, FileChange, FileRow
from agentscope_reme.store.scaleout.seekdb_schema import Tables
from agentscope_reme.workspace import layer_of

if TYPE_CHECKING:
    from pymysql.cursors import Cursor

AT_ONCE: Final = 500
"""Rows in a statement."""
_CHUNK: Final = (
    "workspace, chunk_id, path, layer, position, answer, start_line, end_line, length, "
    "text_hash, state, text, details, terms"
)
_PLACE: Final = ("position", "answer", "start_line", "end_line")
_FILE: Final = (
    "workspace, path, mtime_ns, size, content_hash, rules, record, links, edges, answers, length"
)


@dataclass(frozen=True, slots=True)
class StoredFile:
    """As much of a stored file as its next version is compared with."""

    stamp: FileStamp
    answers: int
    length: int
    has_edges: bool


_Stored = dict[str, StoredFile]
_Place = tuple[int, int, int, int]


class FileWriter:
    """Brings files into the tables; of a chunk that stays only its place is written.

    Args:
        cursor: inside the transaction.
        tables: where.
        workspace: whose.
    """

    def __init__(self, cursor: Cursor, tables: Tables, workspace: bytes) -> None:
        self._cursor: Final = cursor
        self._tables: Final = tables
        self._workspace: Final = workspace

    def commit(self, changes: Sequence[FileChange], gone: Sequence[str]) -> bool:
        """Replace files and forget others; false when one is not what was to be gone on from."""
        self._hold()
        before = self._stored([*gone, *(change.file.path for change in changes)])
        edged = [path for path, stored in before.items() if stored.has_edges]
        if any(_is_done(change, before) for change in changes if change.base is not None):
            return True  # by ourselves: the answer to the first attempt was lost
        if not all(_fits(change, before) for change in changes):
            return False
        for table in (self._tables.links, self._tables.tags):
            self._delete(table, "path", map(as_bytes, edged))
        for table in (self._tables.chunks, self._tables.files):
            self._delete(table, "path", [as_bytes(path) for path in gone if path in before])
        self._put_chunks(changes, before)
        self._put_files([change.file for change in changes])
        answers = sum(c.file.answers for c in changes) - sum(row.answers for row in before.values())
        length = sum(c.file.length for c in changes) - sum(row.length for row in before.values())
        self._cursor.execute(
            f"UPDATE {self._tables.heads} SET revision = revision + 1, answers = answers + %s, "
            "length = length + %s WHERE workspace = %s",
            (answers, length, self._workspace),
        )
        return True

    def clear(self) -> None:
        """Forget every file."""
        self._hold()
        for table in (
            self._tables.chunks, self._tables.links, self._tables.tags, self._tables.files
        ):  # fmt: skip
            self._cursor.execute(f"DELETE FROM {table} WHERE workspace = %s", (self._workspace,))
        self._cursor.execute(
            f"UPDATE {self._tables.heads} SET revision = revision + 1, answers = 0, length = 0, "
            "settled = FALSE WHERE workspace = %s",
            (self._workspace,),
        )

    def _hold(self) -> None:
        """Keep other writers of the workspace out until the transaction ends."""
        self._cursor.execute(
            f"SELECT revision FROM {self._tables.heads} WHERE workspace = %s FOR UPDATE",
            (self._workspace,),
        )

    def _stored(self, paths: Sequence[str]) -> _Stored:
        """Those of some files that are stored."""
        rows = self._select(
            "SELECT path, mtime_ns, size, content_hash, answers, length, edges "
            f"FROM {self._tables.files} WHERE workspace = %s AND path IN",
            map(as_bytes, paths),
        )
        return {
            as_text(path): StoredFile(FileStamp(mtime_ns, size, digest), answers, length, edges > 0)
            for path, mtime_ns, size, digest, answers, length, edges in rows
        }

    def _put_chunks(self, changes: Sequence[FileChange], before: _Stored) -> None:
        known = self._known([c.file.path for c in changes if c.file.path in before])
        gone: list[bytes] = []
        new: list[tuple[Any, ...]] = []
        moved: list[tuple[Any, ...]] = []
        for change in changes:
            path = change.file.path
            old = {
                key: (state, place)
                for key, state, place in known.get(path, ())
                if place[2] >= change.keep_below
            }
            for chunk in change.chunks:
                row = self._row(path, chunk)
                state, place = old.pop(row[1], (b"", ()))
                if state != row[10]:
                    gone += [row[1]] if state else []
                    new.append(row)
                elif place != row[4:8]:
                    moved.append((*row[4:8], self._workspace, row[1]))
            gone += old
        self._delete(self._tables.chunks, "chunk_id", gone)
        for start in range(0, len(moved), AT_ONCE):
            self._cursor.executemany(
                f"UPDATE {self._tables.chunks} SET {', '.join(f'{n} = %s' for n in _PLACE)} "
                "WHERE workspace = %s AND chunk_id = %s",
                moved[start : start + AT_ONCE],
            )
        self._insert(self._tables.chunks, _CHUNK, new)

    def _known(self, paths: Sequence[str]) -> dict[str, list[tuple[bytes, bytes, _Place]]]:
        """Key, state and place of the stored chunks of some files."""
        found: dict[str, list[tuple[bytes, bytes, _Place]]] = {}
        rows = self._select(
            f"SELECT path, chunk_id, state, {', '.join(_PLACE)} FROM {self._tables.chunks} "
            "WHERE workspace = %s AND path IN",
            map(as_bytes, paths),
        )
        for path, key, state, *place in rows:
            found.setdefault(as_text(path), []).append((key, state, tuple(place)))
        return found

    def _row(self, path: str, chunk: ChunkRow) -> tuple[Any, ...]:
        state = hashlib.blake2b(digest_size=8)
        for part in (chunk.text_hash.encode(), chunk.details, chunk.terms.encode()):
            state.update(len(part).to_bytes(8, "big") + part)
        state.update(chunk.length.to_bytes(8, "big"))
        return (
            self._workspace,
            bytes.fromhex(chunk.chunk_id),
            as_bytes(path),
            as_bytes(layer_of(path)),
            chunk.position,
            chunk.answer,
            chunk.start_line,
            chunk.end_line,
            chunk.length,
            bytes.fromhex(chunk.text_hash),
            state.digest(),
            chunk.text,
            chunk.details,
            chunk.terms or None,
        )

    def _put_files(self, files: Sequence[FileRow]) -> None:
        rows = [
            (
                self._workspace,
                as_bytes(file.path),
                file.stamp.mtime_ns,
                file.stamp.size,
                file.stamp.content_hash,
                file.rules,
                file.record,
                len(file.links),
                len(file.links) + len(file.tags),
                file.answers,
                file.length,
            )
            for file in files
        ]
        changing = ", ".join(f"{n} = VALUES({n})" for n in _FILE.split(", ")[2:])
        self._insert(self._tables.files, _FILE, rows, f" ON DUPLICATE KEY UPDATE {changing}")
        links = {
            (self._workspace, target_key(link.target_path), as_bytes(file.path))
            for file in files
            for link in file.links
        }
        self._insert(self._tables.links, "workspace, target, path", sorted(links))
        tags = {
            (self._workspace, as_bytes(tag), as_bytes(file.path))
            for file in files
            for tag in file.tags
        }
        self._insert(self._tables.tags, "workspace, tag, path", sorted(tags))

    def _select(self, statement: str, keys: Iterable[bytes]) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = []
        wanted = list(keys)
        for start in range(0, len(wanted), AT_ONCE):
            some = wanted[start : start + AT_ONCE]
            marks = ", ".join(["%s"] * len(some))
            self._cursor.execute(f"{statement} ({marks})", (self._workspace, *some))
            found += self._cursor.fetchall()
        return found

    def _delete(self, table: str, column: str, keys: Iterable[bytes]) -> None:
        wanted = list(keys)
        for start in range(0, len(wanted), AT_ONCE):
            some = wanted[start : start + AT_ONCE]
            marks = ", ".join(["%s"] * len(some))
            self._cursor.execute(
                f"DELETE FROM {table} WHERE workspace = %s AND {column} IN ({marks})",
                (self._workspace, *some),
            )

    def _insert(
        self, table: str, columns: str, rows: Sequence[tuple[Any, ...]], otherwise: str = ""
    ) -> None:
        marks = ", ".join(["%s"] * len(columns.split(", ")))
        for start in range(0, len(rows), AT_ONCE):
            self._cursor.executemany(
                f"INSERT INTO {table} ({columns}) VALUES ({marks}){otherwise}",
                rows[start : start + AT_ONCE],
            )


def as_bytes(text: str) -> bytes:
    """A name as the tables hold it."""
    return text.encode("utf-8", "surrogatepass")


def as_text(data: bytes) -> str:
    """The name `as_bytes` was given."""
    return data.decode("utf-8", "surrogatepass")


def upper(prefix: str) -> bytes:
    """Behind every name with a prefix: no UTF-8 has this byte."""
    return as_bytes(prefix) + b"\xff"


def target_key(target: str) -> bytes:
    """What a link's target is found by, however long it is."""
    return hashlib.blake2b(as_bytes(target), digest_size=16).digest()


def _is_done(change: FileChange, before: _Stored) -> bool:
    stored = before.get(change.file.path)
    return stored is not None and stored.stamp == change.file.stamp != change.base


def _fits(change: FileChange, before: _Stored) -> bool:
    if change.base is None:
        return True
    stored = before.get(change.file.path)
    return stored is not None and stored.stamp == change.base
