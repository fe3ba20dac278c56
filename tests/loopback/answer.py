"""An HTTP answer before it is written to a socket."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Answer:
    """Status, body and headers. A stream has several parts and may be ``cut`` before its end."""

    status: int
    parts: tuple[bytes, ...]
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    stream: bool = False
    cut: bool = False

    @classmethod
    def of_json(cls, status: int, body: object, headers: Mapping[str, str] | None = None) -> Answer:
        """A whole JSON document."""
        return cls(status, (as_json(body),), headers=headers or {})

    @classmethod
    def of_events(cls, events: list[bytes], *, cut: bool = False) -> Answer:
        """A ``text/event-stream``."""
        return cls(200, tuple(events), "text/event-stream", stream=True, cut=cut)


def as_json(body: object) -> bytes:
    """The body as UTF-8 JSON."""
    return json.dumps(body, ensure_ascii=False).encode("utf-8")


def pieces(text: str, count: int = 3) -> list[str]:
    """The text in up to `count` parts, so that a client has something to join."""
    size = max(1, -(-len(text) // count))
    return [text[start : start + size] for start in range(0, len(text), size)]


def merged(*parts: Mapping[str, Any]) -> dict[str, Any]:
    """One dictionary out of several; later ones win."""
    return {key: value for part in parts for key, value in part.items()}
