"""What can still be read of a damaged local store is brought over into the new one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from agentscope_reme.errors import BadInput
from agentscope_reme.store.vectors import Floats
from agentscope_reme.typed.nodes import MemoryNode
from agentscope_reme.typed.stores.base import KEPT_SPACES
from agentscope_reme.typed.stores.conditions import check_node
from agentscope_reme.typed.stores.damaged_file import DamagedFile, damaged_file
from agentscope_reme.typed.stores.local_database import NODE_BITS
from agentscope_reme.typed.stores.local_spaces import (
    drop_vectors,
    note_changes,
    width_of,
    write_vectors,
)
from agentscope_reme.typed.stores.local_statements import COLUMNS, node_of, write_node
from agentscope_reme.typed.stores.set_aside import Salvage

_NODE_MASK: Final = (1 << NODE_BITS) - 1
_LENGTH_TOLERANCE: Final = 1e-3
"""Vectors are stored with the length 1: one that has another was damaged."""
_AT_ONCE: Final = 500


@dataclass(slots=True)
class _Remains:
    nodes: dict[str, tuple[int, MemoryNode]] = field(default_factory=dict)
    spaces: dict[int, tuple[str, int]] = field(default_factory=dict)
    named: dict[str, int] = field(default_factory=dict)


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
        written = {
            node.memory_id: write_node(connection, node)
            for _, node in remains.nodes.values()
            if _is_newer(connection, node)
        }
        drop_vectors(connection, written.values())
        numbers = {
            old: written[memory_id]
            for memory_id, (old, _) in remains.nodes.items()
            # A number the index knows otherwise was damaged: it would lead to another's vector.
            if memory_id in written and remains.named.get(memory_id, old) == old
        }
        for space_id, vectors in _vectors(damaged, remains, numbers):
            if width_of(connection, space_id) in (None, len(vectors[0][1])):
                write_vectors(connection, space_id, vectors)
        note_changes(connection, written.values())
    return Salvage(len(remains.nodes), len(remains.named.keys() - remains.nodes.keys()))


def _remains(damaged: DamagedFile) -> _Remains:
    found = _Remains()
    written: dict[int, int] = {}  # files of earlier days do not say
    for number, columns in damaged.rows():
        match columns:
            case [None, str(space_id), int(width), int(), *rest] if space_id and len(rest) < 2:
                found.spaces[number] = (space_id, width)
                written[number] = rest[0] if rest and isinstance(rest[0], int) else 0
            case [str(memory_id), int(node)] if not number:  # an index of ids, or of spaces
                found.named[memory_id] = node
            case [None, *fields] if len(fields) == len(COLUMNS):
                _take(found, number, fields)
    for number, (space_id, _) in found.spaces.items():
        if found.named.get(space_id) == number and space_id not in found.nodes:
            del found.named[space_id]
    newest = sorted(written, key=lambda number: (written[number], number))[-KEPT_SPACES:]
    found.spaces = {number: found.spaces[number] for number in newest}
    return found


def _take(found: _Remains, number: int, fields: list[object]) -> None:
    """Keep a node that meets its model; of two states of one, the newer."""
    try:
        node = node_of(fields)
        check_node(node)
    except (ValueError, BadInput):
        if isinstance(fields[0], str):
            found.named.setdefault(fields[0], number)
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
    length = float(np.linalg.norm(np.frombuffer(blob, np.float32).astype(np.float64)))
    return abs(length - 1.0) < _LENGTH_TOLERANCE
