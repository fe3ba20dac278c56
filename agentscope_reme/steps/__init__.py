"""Workflows: small steps over shared components. See `BaseStep`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentscope_reme.late_names import late_names

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

# Late, so that who searches does not load what dreams.
__getattr__, __dir__ = late_names(
    __name__,
    {
        "archive": "ArchiveStep",
        "auto_memory": "AutoMemoryStep",
        "base": "BaseStep Ref run_workflow",
        "claude_code": "ClaudeCodeMemoryStep",
        "context": "ApplicationContext Components RuntimeContext",
        "distil": "DistilStep",
        "index": "IndexStep",
        "recall": "RecallStep",
        "record": "RecordStep",
        "resources": "AutoResourceStep",
        "search": "SearchStep",
    },
)
