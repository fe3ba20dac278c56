"""The record of one typed memory, and how a search names what it wants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, Field

Scalar = str | int | float | bool
"""What the metadata of a node may hold, so that every engine can filter and sort by it."""


class MemoryType(StrEnum):
    """What a memory is about."""

    PERSONAL = "personal"
    """Somebody: preferences, habits, facts; the target is a user."""
    PROFILE = "profile"
    """One key and value of somebody's profile; the target is a user."""
    PROCEDURAL = "procedural"
    """How a task is done, or not to be done; the target is a task."""
    TOOL = "tool"
    """How a tool is used, or fails; the target is a tool."""
    HISTORY = "history"
    """A conversation as it was; what was learnt from it refers to it."""


def new_memory_id() -> str:
    """A new id: 32 hexadecimal digits, never derived from content."""
    return uuid4().hex


class MemoryNode(BaseModel):
    """One memory.

    Attributes:
        memory_id: names it for good; an update keeps it.
        memory_type: what it is about.
        memory_target: who, which task or which tool.
        when_to_use: the situation it helps in; found by this when it is set, else by `content`.
        content: what is known.
        message_time: when it was said or happened, ``YYYY-MM-DD HH:MM:SS``; empty when unknown.
        ref_memory_id: the conversation it comes from, a node of type ``history``.
        time_created: when it was stored first, ``YYYY-MM-DD HH:MM:SS``.
        time_modified: when it was changed last.
        author: the model or person that wrote it.
        score: how much it matters, by whoever wrote it; a search never changes it.
        metadata: whatever else; scalars, so that it can be filtered by.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    memory_id: str = Field(default_factory=new_memory_id, min_length=1)
    memory_type: MemoryType
    memory_target: str
    when_to_use: str = ""
    content: str
    message_time: str = ""
    ref_memory_id: str = ""
    time_created: str = ""
    time_modified: str = ""
    author: str = ""
    score: float = 0.0
    metadata: dict[str, Scalar] = Field(default_factory=dict)

    @property
    def embedded_text(self) -> str:
        """What its vector is made of."""
        return self.when_to_use or self.content

    @property
    def words(self) -> str:
        """What it is found by without a vector."""
        return f"{self.when_to_use}\n{self.content}"


@dataclass(frozen=True, slots=True)
class NodeFilter:
    """Which nodes are meant; every given condition must hold.

    Attributes:
        types: any of these types; ``None`` for all.
        targets: any of these targets; ``None`` for all, which only maintenance may ask for.
        equal: field or metadata key to the value it must have.
        between: field or metadata key to its lowest and highest value, inclusive.
    """

    types: frozenset[MemoryType] | None = None
    targets: frozenset[str] | None = None
    equal: Mapping[str, Scalar] = field(default_factory=dict)
    between: Mapping[str, tuple[Scalar, Scalar]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FoundNode:
    """A node and how similar it is to what was searched for, as a cosine."""

    node: MemoryNode
    similarity: float
