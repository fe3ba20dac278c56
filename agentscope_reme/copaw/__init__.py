"""AgentScope 1.x: the memory that CoPaw-style hosts inherit from.

Import this package only where AgentScope 1.x is installed; `agentscope_reme` does so by itself.
"""

from __future__ import annotations

from agentscope_reme.copaw.copaw import ReMeCopaw
from agentscope_reme.copaw.memory import CoPawInMemoryMemory

__all__ = ["CoPawInMemoryMemory", "ReMeCopaw"]
