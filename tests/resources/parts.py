"""Answers of a model that keeps a resource, and a look at what it was asked."""

from __future__ import annotations

import json
from typing import Any

from agentscope_reme.testing import Request, ToolCall

DAY = "2026-06-18"
REPORT = f"resource/{DAY}/report.md"
CARD = f"daily/{DAY}/solar-report.md"

WRITE = ToolCall(
    "daily_write",
    {
        "name": "solar-report",
        "description": "What the report says of solar power.",
        "content": "# Solar report\n\nThe report says: solar gave 12 % of the power.\n",
        "metadata": {"memory_tags": ["Solar Power"]},
    },
)
KEEPS = [WRITE, "Recorded."]


def edit(old: str, new: str, card: str = CARD) -> ToolCall:
    return ToolCall("edit", {"path": card, "old": old, "new": new})


def quoted(request: Request) -> str:
    """What stands between the tags of the resource, as the model reads it."""
    words = "".join(_words(json.loads(request.text)[-1]["content"]))
    return words.split("<resource_text>\n", 1)[1].rsplit("\n</resource_text>", 1)[0]


def _words(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [block["text"] for block in content if block.get("type", "text") == "text"]
