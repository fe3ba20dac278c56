"""Takes out of plain data, such as parsed JSON or YAML, what speaks of something forgotten."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

Tainted = Callable[[str], bool]
"""Tells whether a text speaks of what is forgotten."""


class _Gone:
    """The type of `GONE`."""


GONE: Final = _Gone()
"""In the place of a value of which nothing may stay."""


def pruned(value: Any, is_tainted: Tainted) -> Any:
    """The value without what is tainted; `GONE` when it is tainted itself.

    A text goes whole, a list loses items, a mapping loses keys that are tainted themselves. A
    mapping goes when a text in it is tainted, or when one of its lists lost its last item: a note
    that rested on nothing else.
    """
    if isinstance(value, str):
        return GONE if is_tainted(value) else value
    if isinstance(value, list):
        kept = [item for item in (pruned(one, is_tainted) for one in value) if item is not GONE]
        return GONE if value and not kept else kept
    if isinstance(value, dict):
        return _pruned_mapping(value, is_tainted)
    return value


def pruned_root(value: dict[str, Any], is_tainted: Tainted) -> Any:
    """As `pruned`, for a whole document: lists may run empty, and it goes only for a text of its
    own."""
    kept: dict[str, Any] = {}
    for key, item in value.items():
        if is_tainted(key):
            continue
        rest = pruned(item, is_tainted)
        if rest is GONE and isinstance(item, str):
            return GONE
        kept[key] = type(item)() if rest is GONE else rest
    return kept


def _pruned_mapping(value: dict[Any, Any], is_tainted: Tainted) -> Any:
    kept: dict[Any, Any] = {}
    for key, item in value.items():
        if isinstance(key, str) and is_tainted(key):
            continue
        rest = pruned(item, is_tainted)
        if rest is GONE:
            return GONE
        kept[key] = rest
    return GONE if value and not kept else kept
