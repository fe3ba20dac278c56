"""What tests of an application need: a model with a script and a clock that obeys.

`ScriptedChatModel` is the one of the installed AgentScope line and is imported on first use, so
`FakeClock` and `Script` work without any AgentScope.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from agentscope_reme.agentscope_line import installed_line
from agentscope_reme.testing.clock import FakeClock
from agentscope_reme.testing.script import (
    Request,
    Script,
    Step,
    Structured,
    Text,
    ToolCall,
    ToolCalls,
    UnscriptedCall,
    take_unscripted_calls,
)

if TYPE_CHECKING:
    ScriptedChatModel: Any  # a class of one line or the other: no type checker can know which

__all__ = [
    "FakeClock",
    "Request",
    "Script",
    "ScriptedChatModel",
    "Step",
    "Structured",
    "Text",
    "ToolCall",
    "ToolCalls",
    "UnscriptedCall",
    "take_unscripted_calls",
]


def __getattr__(name: str) -> Any:
    if name != "ScriptedChatModel":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    line = installed_line()
    if line is None:
        raise ImportError(
            "ScriptedChatModel needs AgentScope: pip install 'agentscope-reme[v2]', or [v1]"
        )
    # By name, so that a type checker in one line's environment never reads the other line's room.
    return import_module(f"agentscope_reme.agentscope_v{line}.scripted").ScriptedChatModel


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
