"""The context window: how large it is, where it may be cut, and what stands for the rest."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from agentscope_reme.context.calibration import Calibration
    from agentscope_reme.context.checkpoint import is_checkpoint
    from agentscope_reme.context.compactor import Compactor
    from agentscope_reme.context.cut import ContextCheck, check_context, choose_cut, is_user_turn
    from agentscope_reme.context.fallback import fallback_summary
    from agentscope_reme.context.repair import is_paired, paired
    from agentscope_reme.context.result_files import ResultFiles, VaultResultFiles, result_paths
    from agentscope_reme.context.terminal import as_shown
    from agentscope_reme.context.tokens import (
        IMAGE_TOKENS,
        estimate_message_tokens,
        estimate_messages_tokens,
        estimate_tokens,
    )
    from agentscope_reme.context.tool_results import ResultLimits, ToolResultCompactor

__all__ = [
    "IMAGE_TOKENS",
    "Calibration",
    "Compactor",
    "ContextCheck",
    "ResultFiles",
    "ResultLimits",
    "ToolResultCompactor",
    "VaultResultFiles",
    "as_shown",
    "check_context",
    "choose_cut",
    "estimate_message_tokens",
    "estimate_messages_tokens",
    "estimate_tokens",
    "fallback_summary",
    "is_checkpoint",
    "is_paired",
    "is_user_turn",
    "paired",
    "result_paths",
]

_HOMES: Final = {
    "IMAGE_TOKENS": "tokens",
    "Calibration": "calibration",
    "Compactor": "compactor",
    "ContextCheck": "cut",
    "ResultFiles": "result_files",
    "ResultLimits": "tool_results",
    "ToolResultCompactor": "tool_results",
    "VaultResultFiles": "result_files",
    "as_shown": "terminal",
    "check_context": "cut",
    "choose_cut": "cut",
    "estimate_message_tokens": "tokens",
    "estimate_messages_tokens": "tokens",
    "estimate_tokens": "tokens",
    "fallback_summary": "fallback",
    "is_checkpoint": "checkpoint",
    "is_paired": "repair",
    "is_user_turn": "cut",
    "paired": "repair",
    "result_paths": "result_files",
}


def __getattr__(name: str) -> Any:
    # Late, so that who only counts tokens does not load what compacts.
    if name in __all__:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
