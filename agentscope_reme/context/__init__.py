"""The context window: how large it is, where it may be cut, and what stands for the rest."""

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
