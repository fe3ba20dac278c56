"""Memory in the layout of CoPaw: ``MEMORY.md``, the notes of days in ``memory/``, and their makers.

`ReMeCopaw` and `CoPawInMemoryMemory`, what CoPaw-style hosts inherit from, need AgentScope 1.x and
are imported when they are first used; the rest of the room knows no AgentScope.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentscope_reme.copaw.copaw import ReMeCopaw
    from agentscope_reme.copaw.memory import CoPawInMemoryMemory

__all__ = ["CoPawInMemoryMemory", "ReMeCopaw"]

_HOME = {"CoPawInMemoryMemory": "memory", "ReMeCopaw": "copaw"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value
