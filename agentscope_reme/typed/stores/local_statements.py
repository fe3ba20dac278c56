"""Filters and sort orders as SQL; everything a caller gives is bound, never written into it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Final

from agentscope_reme.typed.nodes import MemoryNode, NodeFilter, Scalar
from agentscope_reme.typed.stores.conditions import (
    DEFAULT_SORT_KEY,
    FIELDS,
    NUMBER_FIELDS,
    check_filter,
)

COLUMNS: Final = (*(name for name in MemoryNode.model_fields if name in FIELDS), "metadata")
"""The columns that make a node."""
Values = list[Scalar]

_INSERT: Final = (
    f"INSERT INTO nodes ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))}) "
    f"ON CONFLICT (memory_id) DO UPDATE SET "
    f"{', '.join(f'{name} = excluded.{name}' for name in COLUMNS[1:])} RETURNING number"
)
_TYPES: Final = {
    "flag": "type IN ('true', 'false')",
    "number": "type IN ('integer', 'real')",
    "text": "type = 'text'",
}
_RANK: Final = (
    "CASE WHEN sorted.type IN ('true', 'false') THEN 0 WHEN sorted.type = 'text' THEN 2 ELSE 1 END"
)


def write_node(connection: sqlite3.Connection, node: MemoryNode) -> int:
    """Store a node, new or in place of the one with its id; its number."""
    fields = node.model_dump(mode="json")
    fields["metadata"] = json.dumps(fields["metadata"], ensure_ascii=False)
    row = connection.execute(_INSERT, [fields[name] for name in COLUMNS]).fetchone()
    return int(row[0])


def node_of(row: Sequence[object]) -> MemoryNode:
    """The node in a row of `COLUMNS`.

    Raises:
        ValueError: the row makes no node.
    """
    fields = dict(zip(COLUMNS, row, strict=True))
    metadata = json.loads(str(fields["metadata"]))
    return MemoryNode.model_validate({**fields, "metadata": metadata})


def condition(where: NodeFilter) -> tuple[str, Values]:
    """The condition of a filter over ``nodes``, and the values it binds.

    Raises:
        BadInput: the filter makes no sense.
    """
    check_filter(where)
    parts, values = ["1"], Values()
    for column, wanted in (("memory_target", where.targets), ("memory_type", where.types)):
        if wanted is not None:
            marks = ", ".join("?" * len(wanted))
            parts.append(f"{column} IN ({marks})")
            values.extend(sorted(map(str, wanted)))
    for key, value in where.equal.items():
        _compare(parts, values, key, "{} = ?", value)
    for key, span in where.between.items():
        _compare(parts, values, key, "{} BETWEEN ? AND ?", *span)
    return " AND ".join(parts), values


def order(sort_key: str | None, *, reverse: bool) -> tuple[str, str, Values]:
    """What is joined to ``nodes`` and how it is ordered, and the values both bind."""
    key = sort_key or DEFAULT_SORT_KEY
    way = "DESC" if reverse else "ASC"
    if key in FIELDS:
        return "", f"ORDER BY {key} = '', {key} {way}, memory_id", Values()
    return (
        "LEFT JOIN json_each(nodes.metadata) AS sorted ON sorted.key = ? AND sorted.value != ''",
        f"ORDER BY sorted.type IS NULL, {_RANK} {way}, sorted.value {way}, memory_id",
        [key],
    )


def _compare(parts: list[str], values: Values, key: str, comparison: str, *ends: Scalar) -> None:
    kind = _kind(ends[0])
    # Both sides are bound as floats: that is how numbers are compared in every store.
    bound = [end if isinstance(end, str) else float(end) for end in ends]
    if key in FIELDS:
        fits = kind == ("number" if key in NUMBER_FIELDS else "text")
        parts.append(comparison.format(key) if fits else "0")
        values.extend(bound if fits else [])
        return
    value = "value" if kind == "text" else "CAST(value AS REAL)"
    parts.append(
        "EXISTS (SELECT 1 FROM json_each(nodes.metadata) "
        f"WHERE key = ? AND {_TYPES[kind]} AND {comparison.format(value)})"
    )
    values.extend([key, *bound])


def _kind(value: Scalar) -> str:
    if isinstance(value, bool):
        return "flag"
    return "text" if isinstance(value, str) else "number"
