"""Memory in the layout of CoPaw: ``MEMORY.md``, the notes of days in ``memory/``, and their makers.

`ReMeCopaw` and `CoPawInMemoryMemory`, what CoPaw-style hosts inherit from, need AgentScope 1.x and
are imported when they are first used; the rest of the room knows no AgentScope.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentscope_reme.late_names import late_names

if TYPE_CHECKING:
    from agentscope_reme.copaw.copaw import ReMeCopaw
    from agentscope_reme.copaw.memory import CoPawInMemoryMemory

__all__ = ["CoPawInMemoryMemory", "ReMeCopaw"]

__getattr__, __dir__ = late_names(__name__, {"copaw": "ReMeCopaw", "memory": "CoPawInMemoryMemory"})
