"""Workflows: small steps over shared components. See `BaseStep`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from agentscope_reme.steps.archive import ArchiveStep
    from agentscope_reme.steps.auto_memory import AutoMemoryStep
    from agentscope_reme.steps.base import BaseStep, Ref, run_workflow
    from agentscope_reme.steps.claude_code import ClaudeCodeMemoryStep
    from agentscope_reme.steps.context import ApplicationContext, Components, RuntimeContext
    from agentscope_reme.steps.distil import DistilStep
    from agentscope_reme.steps.index import IndexStep
    from agentscope_reme.steps.recall import RecallStep
    from agentscope_reme.steps.record import RecordStep
    from agentscope_reme.steps.resources import AutoResourceStep
    from agentscope_reme.steps.search import SearchStep

__all__ = [
    "ApplicationContext",
    "ArchiveStep",
    "AutoMemoryStep",
    "AutoResourceStep",
    "BaseStep",
    "ClaudeCodeMemoryStep",
    "Components",
    "DistilStep",
    "IndexStep",
    "RecallStep",
    "RecordStep",
    "Ref",
    "RuntimeContext",
    "SearchStep",
    "run_workflow",
]

_HOMES: Final = {
    "ApplicationContext": "context",
    "ArchiveStep": "archive",
    "AutoMemoryStep": "auto_memory",
    "AutoResourceStep": "resources",
    "ClaudeCodeMemoryStep": "claude_code",
    "Components": "context",
    "DistilStep": "distil",
    "IndexStep": "index",
    "RecallStep": "recall",
    "RecordStep": "record",
    "RuntimeContext": "context",
    "SearchStep": "search",
}


def __getattr__(name: str) -> Any:
    # Late, so that who searches does not load what dreams.
    if name in __all__:
        module = import_module(f"{__name__}.{_HOMES.get(name, 'base')}")
        return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
