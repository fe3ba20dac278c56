"""Rows of a shared index in seekdb or OceanBase: how they are asked for, and what they mean."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from agentscope_reme.errors import BadInput
from agentscope_reme.store.records import FileStamp
from agentscope_reme.store.scaleout.engine import (
    ChunkOutline,
    ChunkRow,
    FileRow,
    FoundChunk,
    Restriction,
)
from agentscope_reme.store.scaleout.rows import RAW_LAYER, tags_of
from agentscope_reme.store.scaleout.seekdb_connections import SeekdbAddress, SeekdbConnections
from agentscope_reme.store.scaleout.seekdb_schema import Tables
from agentscope_reme.store.scaleout.seekdb_writing import AT_ONCE, as_bytes, as_text, upper

if TYPE_CHECKING:
    from pymysql.cursors import Cursor

FILE: Final = "path, mtime_ns, size, content_hash, rules, record, answers, length"
CHUNK: Final = (
    "CONCAT_WS(' ', HEX(chunk_id), HEX(text_hash), position, answer, start_line, end_line, length) "
    "AS facts, text, details"
)
"""Few columns, since each costs the client more than a blank and a number do."""
_FACTS: Final = 7
FOUND: Final = (
    "CONCAT_WS(' ', facts, found.path), CONCAT_WS('\\n', details, files.record, text), terms"
)
"""`CHUNK`, its terms, and the path and record of its file: JSON of ours has no line breaks."""
OUTLINE: Final = "path, chunk_id, position, answer, start_line, length"

Row = tuple[Any, ...]
T = TypeVar("T")


class SeekdbRows:
    """Where the parts of a `SeekdbEngine` ask.

    Args:
        address: where the database is.
        shards: sets of tables.

    Raises:
        BadInput: the client is not installed, or `shards` is no positive number.
    """

    def __init__(self, address: SeekdbAddress, *, shards: int = 1) -> None:
        if shards < 1:
            raise BadInput(shards, "there is at least one shard", "Pass 1 or more.")
        self.connections: Final = SeekdbConnections(address)
        self.shards: Final = shards

    def tables(self, workspace: str) -> Tables:
        """The tables a workspace is in."""
        return Tables(as_bytes(workspace), self.shards)

    def rows(self, statement: str, *values: object) -> Sequence[Row]:
        """What a statement answers; it may be asked twice.

        Raises:
            StorageFailed: the database cannot be reached or refused.
        """

        def read(cursor: Cursor) -> Sequence[Row]:
            cursor.execute(statement, values)
            return cast("Sequence[Row]", cursor.fetchall())

        return self.connections.read(read)


def restricted(only: Restriction, table: str = "") -> tuple[str, list[object]]:
    """Conditions and their values, each condition behind an ``AND``."""
    conditions: list[str] = []
    values: list[object] = []
    if only.raw is not None:
        conditions.append(f"{table}layer {'=' if only.raw else '<>'} %s")
        values.append(as_bytes(RAW_LAYER))
    if only.layers is not None:
        conditions.append(f"{table}layer IN ({marks(only.layers)})" if only.layers else "FALSE")
        values += map(as_bytes, only.layers)
    if only.prefix:
        conditions.append(f"{table}path >= %s AND {table}path < %s")
        values += [as_bytes(only.prefix), upper(only.prefix)]
    if only.paths is not None:
        conditions.append(f"{table}path IN ({marks(only.paths)})" if only.paths else "FALSE")
        values += map(as_bytes, only.paths)
    return "".join(f" AND {condition}" for condition in conditions), values


def file_of(row: Row) -> FileRow:
    """A row of `FILE`."""
    path, mtime_ns, size, digest, rules, record, answers, length = row
    return FileRow(
        path=as_text(path),
        stamp=FileStamp(mtime_ns, size, digest),
        rules=rules,
        record=record,
        tags=tags_of(record),
        answers=answers,
        length=length,
    )


def outline_of(row: Row) -> ChunkOutline:
    """A row of `OUTLINE`."""
    return ChunkOutline(row[1].hex(), *row[2:])


def chunk_row(row: Row) -> ChunkRow:
    """A row of `CHUNK`, without terms."""
    facts, text, details = row
    return _chunk(facts.encode("ascii").split(b" "), text, details, "")


def found_chunk(row: Row) -> FoundChunk:
    """A row of `FOUND`."""
    names, contents, terms = row
    *facts, path = names.split(b" ", _FACTS)
    details, record, text = contents.split(b"\n", 2)
    return FoundChunk(as_text(path), _chunk(facts, text, details, terms or ""), record)


def _chunk(facts: Sequence[bytes], text: bytes, details: bytes, terms: str) -> ChunkRow:
    chunk_id, text_hash, *numbers = facts
    position, answer, start_line, end_line, length = map(int, numbers)
    return ChunkRow(
        chunk_id=chunk_id.decode("ascii").lower(),
        position=position,
        answer=answer,
        start_line=start_line,
        end_line=end_line,
        length=length,
        text_hash=text_hash.decode("ascii").lower(),
        text=text,
        details=details,
        terms=terms,
    )


def batches(values: Sequence[T]) -> Iterator[Sequence[T]]:
    """As many values as a statement takes at once."""
    for start in range(0, len(values), AT_ONCE):
        yield values[start : start + AT_ONCE]


def marks(values: Collection[object]) -> str:
    """A place in a statement for each value."""
    return ", ".join(["%s"] * len(values))
