"""What filters and sort orders mean, alike in every store.

Values are of three kinds, text, number and flag; values of two kinds are never equal. Numbers are
compared as 64-bit floats, text by code points. A key that names a field of `MemoryNode` means that
field, any other one means a key of its metadata.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

from agentscope_reme.errors import BadInput
from agentscope_reme.typed.nodes import MemoryNode, NodeFilter, Scalar

FIELDS: Final = frozenset(MemoryNode.model_fields) - {"metadata"}
"""The keys that name a field of every node."""
NUMBER_FIELDS: Final = frozenset({"score"})
DEFAULT_SORT_KEY: Final = "time_created"

Ordered = tuple[int, float | str]
_FLAG, _NUMBER, _TEXT = range(3)


def value_of(node: MemoryNode, key: str) -> Scalar | None:
    """A field or metadata value; ``None`` when the node has no such key."""
    if key not in FIELDS:
        return node.metadata.get(key)
    value: Scalar = getattr(node, key)
    return str(value) if isinstance(value, str) else value


def ordered(value: Scalar) -> Ordered:
    """A value as something that compares with every other: flags, then numbers, then text."""
    if isinstance(value, bool):
        return _FLAG, float(value)
    if isinstance(value, str):
        return _TEXT, value
    return _NUMBER, float(value)


def matches(node: MemoryNode, where: NodeFilter) -> bool:
    """Whether a node is meant by a checked filter."""
    if where.types is not None and node.memory_type not in where.types:
        return False
    if where.targets is not None and node.memory_target not in where.targets:
        return False
    for key, wanted in where.equal.items():
        value = value_of(node, key)
        if value is None or ordered(value) != ordered(wanted):
            return False
    return all(_lies_in(value_of(node, key), *span) for key, span in where.between.items())


def sort_nodes(
    nodes: Iterable[MemoryNode], sort_key: str | None, *, reverse: bool, limit: int | None
) -> list[MemoryNode]:
    """Nodes in the order of `BaseVectorStore.list`; an empty text counts as missing."""
    key = sort_key or DEFAULT_SORT_KEY
    by_id = sorted(nodes, key=lambda node: node.memory_id)
    found, lacking = [], []
    for node in by_id:
        value = value_of(node, key)
        if value is None or value == "":
            lacking.append(node)
        else:
            found.append((ordered(value), node))
    found.sort(key=lambda pair: pair[0], reverse=reverse)
    return ([node for _, node in found] + lacking)[: clamped(limit)]


def clamped(limit: int | None) -> int | None:
    """A limit that is not negative."""
    return None if limit is None else max(limit, 0)


def check_filter(where: NodeFilter) -> None:
    """Refuse values that no node can have.

    Raises:
        BadInput: a value is no text, finite number or flag, or a range is of two kinds.
    """
    for key, value in where.equal.items():
        _check_scalar(key, value)
    for key, span in where.between.items():
        if not isinstance(span, tuple | list) or len(span) != 2:
            raise BadInput(span, f"the range of {key!r} is no pair", "Pass (lowest, highest).")
        kinds = {_check_scalar(key, end) for end in span}
        if len(kinds) > 1 or _FLAG in kinds:
            raise BadInput(
                span, f"the range of {key!r} has no order", "Pass two numbers or two texts."
            )


def check_node(node: MemoryNode) -> None:
    """Refuse what cannot be compared.

    Raises:
        BadInput: the score or a metadata value is not finite.
    """
    _check_scalar("score", node.score)
    for key, value in node.metadata.items():
        _check_scalar(key, value)


def _check_scalar(key: str, value: Scalar) -> int:
    if not isinstance(value, str | int | float):
        raise BadInput(value, f"{key!r} is no text, number or flag", "Pass a scalar.")
    try:
        kind, comparable = ordered(value)
    except OverflowError:
        kind, comparable = _NUMBER, math.inf
    if isinstance(comparable, float) and not math.isfinite(comparable):
        raise BadInput(value, f"{key!r} is not a finite number", "Pass one that a float can hold.")
    if isinstance(value, str):
        check_text(value)
    return kind


def check_text(text: str) -> str:
    """Refuse text that no store can write.

    Raises:
        BadInput: it has a surrogate without its pair.
    """
    if not is_text(text):
        raise BadInput(text, "it is not valid Unicode", "Remove lone surrogates.")
    return text


def is_text(text: str) -> bool:
    """Whether a store can write it: it has no surrogate without its pair."""
    return not any("\ud800" <= char <= "\udfff" for char in text)


def _lies_in(value: Scalar | None, lowest: Scalar, highest: Scalar) -> bool:
    if value is None:
        return False
    (kind, place), (kind_wanted, low), (_, high) = map(ordered, (value, lowest, highest))
    # Both ends are of one kind, so the comparison is of two numbers or of two texts.
    return kind == kind_wanted and low <= place <= high  # type: ignore[operator]
