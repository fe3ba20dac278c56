"""Somebody's profile: few lasting attributes as key and value, each a node of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from agentscope_reme.typed.answers import ProfileChange
from agentscope_reme.typed.nodes import MemoryNode, MemoryType
from agentscope_reme.typed.stores.base import BaseVectorStore
from agentscope_reme.typed.targets import Target

KEY: Final = "key"
"""Metadata of a line: its key."""

CAPACITY: Final = 50
"""Lines of one profile; of more, those that were changed longest ago go."""


def profile_of(store: BaseVectorStore, target: Target) -> list[MemoryNode]:
    """The lines of a user's profile, the newest change first; none for tasks and tools."""
    if target.kind != "personal":
        return []
    return store.list(target.where(MemoryType.PROFILE), sort_key="time_modified")


def shown(rows: Sequence[MemoryNode]) -> str:
    """A profile for a prompt."""
    return "\n".join(f"- {row.content}" for row in rows) or "-"


def changed(
    rows: Sequence[MemoryNode],
    changes: Sequence[ProfileChange],
    *,
    target: Target,
    now: str,
    message_time: str,
    ref_memory_id: str,
    author: str,
) -> tuple[list[MemoryNode], list[MemoryNode]]:
    """The lines to write and the lines to remove; what says the same already is left alone.

    Args:
        rows: the profile as it is.
        changes: what the model found.
        target: whose profile it is.
        now: ``YYYY-MM-DD HH:MM:SS``.
        message_time: when it was said.
        ref_memory_id: the conversation that says it.
        author: who found it.
    """
    known = {str(row.metadata.get(KEY, "")).casefold(): row for row in rows}
    written: list[MemoryNode] = []
    removed: list[MemoryNode] = []
    for change in {change.key.casefold(): change for change in changes}.values():
        row = known.get(change.key.casefold())
        if not change.value:
            removed += [row] if row is not None else []
            continue
        content = f"{row.metadata[KEY] if row is not None else change.key}: {change.value}"
        if row is not None and row.content == content:
            continue
        line = row or MemoryNode(
            memory_type=MemoryType.PROFILE,
            memory_target=target.name,
            content=content,
            time_created=now,
            metadata={KEY: change.key},
        )
        update = {
            "content": content,
            "time_modified": now,
            "message_time": message_time,
            "ref_memory_id": ref_memory_id,
            "author": author,
        }
        written.append(line.model_copy(update=update))
    return written, removed


def beyond(rows: Sequence[MemoryNode], capacity: int) -> list[MemoryNode]:
    """The lines above the capacity: those that were changed longest ago.

    Args:
        rows: as `profile_of` gives them.
        capacity: how many stay.
    """
    return list(rows[capacity:])
