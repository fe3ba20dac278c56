"""Conversations, and what a model could say of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

COFFEE: list[dict[str, Any]] = [
    {
        "role": "user",
        "content": "I stopped drinking coffee, it is green tea now.",
        "time_created": "2026-02-28 10:00:00",
    },
    {
        "role": "assistant",
        "content": "Green tea it is.",
        "time_created": "2026-02-28 10:00:05",
    },
]
DEPLOY: list[dict[str, Any]] = [
    {
        "role": "user",
        "content": "Deploy the service.",
        "time_created": "2026-02-27 08:00:00",
    },
    {
        "role": "assistant",
        "content": "The migration failed first; after a backup and `migrate --safe` it worked.",
        "time_created": "2026-02-27 08:30:00",
    },
]


def drafts(*memories: Any, profile: Mapping[str, str] | None = None) -> dict[str, Any]:
    """A reading of a conversation with a person."""
    told = [{"content": m, "turn": 1, "score": 0.7} if isinstance(m, str) else m for m in memories]
    rows = [{"key": key, "value": value} for key, value in (profile or {}).items()]
    return {"memories": told, "profile": rows}


def lesson(when: str, content: str, outcome: str = "success", turn: int = 2) -> dict[str, Any]:
    return {"when_to_use": when, "content": content, "outcome": outcome, "turn": turn, "score": 0.6}


def decisions(*given: Mapping[str, Any]) -> dict[str, Any]:
    return {"decisions": [{"draft": n, **one} for n, one in enumerate(given, 1)]}


ADD = {"action": "add", "score": 0.8}
