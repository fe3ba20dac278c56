"""The context window: how large it is, where it may be cut, and what stands for the rest."""

from agentscope_reme.context.compactor import Compactor, is_checkpoint
from agentscope_reme.context.cut import choose_cut, is_user_turn
from agentscope_reme.context.fallback import fallback_summary
from agentscope_reme.context.tokens import (
    IMAGE_TOKENS,
    estimate_message_tokens,
    estimate_messages_tokens,
    estimate_tokens,
)

__all__ = [
    "IMAGE_TOKENS",
    "Compactor",
    "choose_cut",
    "estimate_message_tokens",
    "estimate_messages_tokens",
    "estimate_tokens",
    "fallback_summary",
    "is_checkpoint",
    "is_user_turn",
]
