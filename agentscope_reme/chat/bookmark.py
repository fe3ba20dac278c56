"""Which conversation of a workspace is open: a note that says nothing of what was said in it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

from agentscope_reme.errors import NotFound
from agentscope_reme.steps.context import Components

_NAME: Final = "checkpoints/chat.json"
"""Below ``journal/``: what automation did, and how far."""


@dataclass(frozen=True, slots=True)
class Bookmark:
    """Where to go on.

    Attributes:
        session_id: the open conversation.
        saved_through: the id of the last message that was given to a summary; or empty.
    """

    session_id: str
    saved_through: str = ""


def read_bookmark(parts: Components) -> Bookmark | None:
    """The note; ``None`` where there is none, or nothing that can be read."""
    try:
        found = json.loads(parts.disk.read(parts.workspace.journal / _NAME))
        return Bookmark(str(found["session_id"]), str(found["saved_through"]))
    except (NotFound, ValueError, KeyError, TypeError):
        return None  # a conversation is begun then; the lines of the earlier one are still there


def write_bookmark(parts: Components, mark: Bookmark) -> None:
    """Keep the note durably.

    Raises:
        StorageFailed: the disk refused.
    """
    place = parts.workspace.journal / _NAME
    parts.disk.make_folder(place.parent)
    row = {"session_id": mark.session_id, "saved_through": mark.saved_through}
    parts.disk.replace(place, json.dumps(row).encode())
