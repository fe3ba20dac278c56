"""What became of conversations, resources and dreams."""

from typing import Literal

from pydantic import Field

from agentscope_reme.results.base import Failure, Part, Result
from agentscope_reme.schema import FileLink


class RecordResult(Result):
    """What a recording call made durable."""

    session_path: str = ""
    appended: int = 0
    duplicates: int = 0
    pending: bool = False


class AutoMemoryResult(Result):
    """What became of a conversation.

    ``path`` is ``None`` when no card was written: the model found nothing worth keeping, or the
    work is still ``pending`` because no model was there or it failed. ``tags`` come with the card,
    at most three; ``auto_tag`` names cards that were written without one, and why.
    """

    path: str | None = None
    created: bool = False
    modified: bool = False
    session_path: str = ""
    date: str = ""
    images: list[str] = Field(default_factory=list)
    tags: list[str] = Field(default_factory=list)
    auto_tag: list[Failure] = Field(default_factory=list)
    pending: bool = False
    failed: list[Failure] = Field(default_factory=list)
    model_calls: int = 0


class DreamUnit(Part):
    """One thing worth knowing in the long run, as a dream found it in daily notes."""

    name: str
    summary: str = ""
    bucket: str = ""
    paths: list[str] = Field(default_factory=list)


class Integration(Part):
    """What became of a unit: ``CREATE``, ``CORROBORATE``, ``REFINE`` or ``CORRECT`` of a node."""

    unit: str
    action: str
    target_path: str
    note: str = ""


class Topic(Part):
    """Something the person may want to come back to."""

    title: str
    reason: str = ""
    evidence: str = ""
    keywords: list[str] = Field(default_factory=list)
    paths: list[str] = Field(default_factory=list)


class DreamResult(Result):
    """What one dream did.

    ``units`` are those this run took on, ``carried`` the names of units and paths of daily files
    that wait for the next run (``pending`` says whether there are any, or another process dreams).
    ``diff`` is the one change in the history, ``change_id`` its id; a dry run has the diff only.
    """

    date: str = ""
    units: list[DreamUnit] = Field(default_factory=list)
    integrated: list[Integration] = Field(default_factory=list)
    failed: list[Failure] = Field(default_factory=list)
    topics: list[Topic] = Field(default_factory=list)
    diff: str = ""
    change_id: str = ""
    dry_run: bool = False
    pending: bool = False
    carried: list[str] = Field(default_factory=list)
    model_calls: int = 0
    agent_runs: int = 0


class ProactiveResult(Result):
    """The topics of one day's ``interests.yaml``; none when nothing was written for it."""

    date: str = ""
    path: str = ""
    topics: list[Topic] = Field(default_factory=list)


class ResourceCard(Part):
    """What became of one resource.

    ``path`` is its card: ``None`` when the model found nothing to keep (``declined``).
    ``inbound`` lists links to a card that was ``removed``; ``previous`` is where a resource stood
    that was ``moved``.
    """

    resource: str
    path: str | None = None
    action: Literal["created", "updated", "moved", "removed", "declined"]
    tags: list[str] = Field(default_factory=list)
    inbound: list[FileLink] = Field(default_factory=list)
    previous: str = ""


class AutoResourceResult(Result):
    """What became of resources; each one is in one of the lists, or ``unchanged``.

    A long one that could not be read to its end yet is in ``cards`` and in ``pending``.
    ``failed`` are tried again by the next call; ``skipped`` are files nobody can make a card of.
    """

    cards: list[ResourceCard] = Field(default_factory=list)
    unchanged: int = 0
    pending: list[str] = Field(default_factory=list)
    failed: list[Failure] = Field(default_factory=list)
    skipped: list[Failure] = Field(default_factory=list)
    model_calls: int = 0
