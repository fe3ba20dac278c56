"""Names of a room that are loaded when they are asked for, not with the room."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def late_names(
    room: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The ``__getattr__`` and ``__dir__`` of a room (PEP 562).

    Args:
        room: its ``__name__``.
        homes: by module of the room, the names that are found there, with blanks between.
    """
    home_of = {name: module for module, names in homes.items() for name in names.split()}

    def find(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        return getattr(import_module(f"{room}.{home_of[name]}"), name)

    def names() -> list[str]:
        return sorted({*vars(sys.modules[room]), *home_of})

    return find, names
