"""Text that is quoted in a prompt must not be able to leave its quotation."""

from __future__ import annotations

import re
from typing import Final

from agentscope_reme.messages import RECALL_TAG

WRAPPERS: Final = (
    RECALL_TAG,
    "conversation",
    "card",
    "earlier_checkpoint",
    "previous-summary",
    "resource_text",
)
"""Every element this library wraps quoted text in."""

_OPENING: Final = re.compile(r"<(?=[\s/]*(?:" + "|".join(WRAPPERS) + r")\b)", re.IGNORECASE)


def defuse(text: str) -> str:
    """The text with every imitation of a wrapper made harmless, however it is spelled."""
    return _OPENING.sub("&lt;", text)
