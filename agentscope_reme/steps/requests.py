"""Requests with a name of their own: asked again, they get the answer they got."""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from agentscope_reme.errors import BadInput
from agentscope_reme.files.session_log import SessionLog
from agentscope_reme.messages import Message
from agentscope_reme.results import AutoMemoryResult


@dataclass(frozen=True, slots=True)
class NamedRequest:
    """The caller's name for a request, and a hash of what it asks."""

    request_id: str
    fingerprint: str


def fingerprint_of(
    *,
    session_id: str,
    messages: Sequence[Message] | None,
    date: datetime.date | None,
    hint: str,
    include_images: bool,
) -> str:
    """SHA-256 of the request as canonical JSON: sorted keys, no blanks, messages as they are."""
    rows = None
    if messages is not None:
        rows = [message.model_dump(mode="json", exclude_none=True) for message in messages]
    asked = {
        "session_id": session_id,
        "messages": rows,
        "date": date.isoformat() if date else None,
        "hint": hint,
        "include_images": include_images,
    }
    text = json.dumps(asked, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def earlier_answer(log: SessionLog, request: NamedRequest) -> AutoMemoryResult | None:
    """What the request was answered before; ``None`` when it has not succeeded yet.

    Raises:
        BadInput: the name was given to a request that asked something else.
    """
    cursor = log.answered(request.request_id)
    if cursor is None:
        return None
    if cursor.fingerprint != request.fingerprint:
        raise BadInput(
            request.request_id,
            f"`request_id` belongs to another request of this session, answered at {cursor.at}",
            "Give every request its own id; repeat one only with exactly the same arguments.",
        )
    known = {"session_path": log.path, "path": cursor.card, **(cursor.result or {})}
    fields = AutoMemoryResult.model_fields
    return AutoMemoryResult.model_validate({k: v for k, v in known.items() if k in fields})
