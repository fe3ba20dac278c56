"""The context window: how large it is, where it may be cut, and what stands for the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentscope_reme.late_names import late_names

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

# Late, so that who only counts tokens does not load what compacts.
__getattr__, __dir__ = late_names(
    __name__,
    {
        "calibration": "Calibration",
        "checkpoint": "is_checkpoint",
        "compactor": "Compactor",
        "cut": "ContextCheck check_context choose_cut is_user_turn",
        "fallback": "fallback_summary",
        "repair": "is_paired paired",
        "result_files": "ResultFiles VaultResultFiles result_paths",
        "terminal": "as_shown",
        "tokens": "IMAGE_TOKENS estimate_message_tokens estimate_messages_tokens estimate_tokens",
        "tool_results": "ResultLimits ToolResultCompactor",
    },
)
