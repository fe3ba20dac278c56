"""A conversation with images, and what a model is expected to be shown of it."""

from __future__ import annotations

import base64
from importlib import import_module
from typing import Any

from agentscope_reme.testing import ToolCall
from tests.contract.parts import PIXEL

WEB = "https://example.org/plan.png"
DAY = "daily/2026-06-18"
DIAGRAM = f"session/images/a/msg-{b'message-a'.hex()}-image-1.png"
ORIGINAL = base64.b64decode(PIXEL)


def inline(data: str = PIXEL, media_type: str = "image/png") -> dict[str, Any]:
    source = {"type": "base64", "media_type": media_type, "data": data}
    return {"type": "data", "source": source}


def linked(url: str = WEB) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


def turn(
    *content: str | dict[str, Any], at: str = "10:00:00", name: str = "Ann", **fields: Any
) -> dict[str, Any]:
    blocks = [{"type": "text", "text": c} if isinstance(c, str) else c for c in content]
    row = {"role": "user", "name": name, "content": blocks, "created_at": f"2026-06-18T{at}+02:00"}
    return row | fields


TALK = [
    turn("The diagram:", inline(), "Gateway first.", id="message-a"),
    turn(linked(), "And the plan.", id="message-b", at="10:01:00", name="Bob"),
]

SHOWN = [
    f"[Ann @ 2026-06-18T10:00:00+02:00] The diagram:\nImage source: [[{DIAGRAM}]]",
    f"data:image/png;base64,{PIXEL}",
    f"Gateway first.\n\n[Bob @ 2026-06-18T10:01:00+02:00]\nImage source: {WEB}",
    WEB,
    "And the plan.",
]
"""The conversation between its tags, text and images in order."""

WRITE = ToolCall(
    "daily_write",
    {
        "name": "architecture",
        "description": "Gateway before Worker.",
        "content": f"# Architecture\n\nGateway stands before Worker (see [[{DIAGRAM}]]).\n",
    },
)


def blind() -> Any:
    """A formatter of the installed line that takes no images."""
    made: Any = import_module("agentscope.formatter").DeepSeekChatFormatter
    return made()
