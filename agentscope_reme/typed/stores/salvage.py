"""What can still be read of a damaged local store is brought over into the new one."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from agentscope_reme.errors import BadInput
from agentscope_reme.files.disk import Disk
from agentscope_reme.store.vectors import Floats
from agentscope_reme.typed.nodes import MemoryNode
from agentscope_reme.typed.stores.conditions import check_node, check_text
from agentscope_reme.typed.stores.damaged_file import DamagedFile, damaged_file
from agentscope_reme.typed.stores.local_database import NODE_BITS
from agentscope_reme.typed.stores.local_spaces import (
    drop_vectors,
    note_changes,
    width_of,
    write_vectors,
)
from agentscope_reme.typed.stores.local_statements import COLUMNS, node_of, write_node

_NODE_MASK: Final = (1 << NODE_BITS) - 1
_LENGTH_TOLERANCE: Final = 1e-3
"""Vectors are stored with the length 1: one that has another was damaged."""
_AT_ONCE: Final = 500


@dataclass(frozen=True, slots=True)
class Salvage:
    """What became of the memories in a damaged file.

    Attributes:
        saved: nodes that could be read; each is in the new file, or a newer one of its id.
        lost: nodes the file still names, that could not be read. There may have been others, of
            which nothing is left; how many is not known.
    """

    saved: int
    lost: int

    def __str__(self) -> str:
        lost = f"{self.lost} known to be lost" if self.lost else "none known to be lost"
        return f"{self.saved} memories saved, {lost}; whether it held others is unknown"


@dataclass(slots=True)
class _Remains:
    nodes: dict[str, tuple[int, MemoryNode]] = field(default_factory=dict)
    spaces: dict[int, tuple[str, int]] = field(default_factory=dict)
    named: set[str] = field(default_factory=set)


def bring_over(connection: sqlite3.Connection, place: Path) -> Salvage:
    """Write what a damaged file still tells, inside the caller's transaction.

    A node that is there already stays, unless the one in the file was changed later.

    Args:
        connection: the new file.
        place: the damaged one, which is only read.

    Raises:
        OSError: it cannot be read.
    """
    with damaged_file(place) as damaged:
        remains = _remains(damaged)
        numbers = {
            old: write_node(connection, node)
            for old, node in remains.nodes.values()
            if _is_newer(connection, node)
        }
        drop_vectors(connection, numbers.values())
        for space_id, vectors in _vectors(damaged, remains, numbers):
            if width_of(connection, space_id) in (None, len(vectors[0][1])):
                write_vectors(connection, space_id, vectors)
        note_changes(connection, numbers.values())
    return Salvage(len(remains.nodes), len(remains.named - remains.nodes.keys()))


def keep_note(disk: Disk, damaged: Path, salvage: Salvage) -> None:
    """Write down beside a damaged file that it has been read; it is not read again."""
    disk.replace(_note_of(damaged), json.dumps(asdict(salvage)).encode())


def noted(damaged: Path) -> Salvage | None:
    """What became of a damaged file; ``None`` when it has not been read yet."""
    try:
        return Salvage(**json.loads(_note_of(damaged).read_bytes()))
    except (FileNotFoundError, ValueError, TypeError):  # a note that was cut short is none
        return None


def _note_of(damaged: Path) -> Path:
    return damaged.with_name(f"{damaged.name}.salvaged")


def _remains(damaged: DamagedFile) -> _Remains:
    found = _Remains()
    for number, columns in damaged.rows():
        match columns:
            case [None, str(space_id), int(width), int()] if check_text(space_id):
                found.spaces[number] = (space_id, width)
            case [str(memory_id), int()] if not number:  # the index of ids
                found.named.add(memory_id)
            case [None, *fields] if len(fields) == len(COLUMNS):
                _take(found, number, fields)
    return found


def _take(found: _Remains, number: int, fields: list[object]) -> None:
    """Keep a node that meets its model; of two states of one, the newer."""
    try:
        node = node_of(fields)
        check_node(node)
    except (ValueError, BadInput):
        if isinstance(fields[0], str):
            found.named.add(fields[0])
        return
    known = found.nodes.get(node.memory_id)
    if known is None or known[1].time_modified <= node.time_modified:
        found.nodes[node.memory_id] = (number, node)


def _is_newer(connection: sqlite3.Connection, node: MemoryNode) -> bool:
    row = connection.execute(
        "SELECT time_modified FROM nodes WHERE memory_id = ?", (node.memory_id,)
    ).fetchone()
    return row is None or row[0] < node.time_modified


def _vectors(
    damaged: DamagedFile, remains: _Remains, numbers: dict[int, int]
) -> Iterator[tuple[str, list[tuple[int, Floats]]]]:
    """Sound vectors of the nodes that were written, some of one space at a time."""
    waiting: dict[str, list[tuple[int, Floats]]] = {}
    for key, columns in damaged.rows():
        match columns:
            case [None, bytes(blob)] if key & _NODE_MASK in numbers:
                space_id, width = remains.spaces.get(key >> NODE_BITS, ("", 0))
                if not _is_sound(blob, width):
                    continue
                batch = waiting.setdefault(space_id, [])
                batch.append((numbers[key & _NODE_MASK], np.frombuffer(blob, np.float32)))
                if len(batch) == _AT_ONCE:
                    yield space_id, waiting.pop(space_id)
    yield from waiting.items()


def _is_sound(blob: bytes, width: int) -> bool:
    if not blob or len(blob) != 4 * width:
        return False
    length = float(np.linalg.norm(np.frombuffer(blob, np.float32)))
    return abs(length - 1.0) < _LENGTH_TOLERANCE
