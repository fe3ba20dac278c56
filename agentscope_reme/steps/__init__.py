"""Workflows: small steps over shared components. See `BaseStep`."""

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
