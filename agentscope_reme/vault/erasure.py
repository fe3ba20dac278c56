"""What is to be forgotten, and what a decided forgetting still has to do."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from agentscope_reme.files.traces import Traces


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A file of which a part is forgotten.

    Attributes:
        data: what it shall hold.
        expected: the content hash it has now; ``None`` for a file that comes in place of one that
            was named after what is forgotten.
        size: how many bytes it has now.
        grows: it is a log: what others append meanwhile stays behind `data`.
    """

    data: bytes
    expected: str | None
    size: int = 0
    grows: bool = False


@dataclass(frozen=True, slots=True)
class Erasure:
    """What is to be forgotten, computed from the files as they stood.

    Attributes:
        writes: files of which a part goes, by path.
        removes: the content hash of files that go whole, by path.
        sessions: whose logs are rewritten.
        traces: what only the forgotten text had, for finding copies.
        tidied: files that are merely rewritten to fit: their earlier versions may stay.
        own: the library's own files of which a part goes, by path; empty data for those that go.
    """

    writes: Mapping[str, Rewrite] = field(default_factory=dict)
    removes: Mapping[str, str] = field(default_factory=dict)
    sessions: tuple[str, ...] = ()
    traces: Traces = field(default_factory=Traces)
    tidied: frozenset[str] = frozenset()
    own: Mapping[str, Rewrite] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Receipt:
    """What was forgotten of what the library kept for itself.

    ``indexed`` is false when the index still has to follow; the next change sees to that.
    """

    change_id: str
    entries: int
    images: int
    trashed: int
    indexed: bool = True


@dataclass(slots=True)
class Staged:
    """One file of a plan. ``place`` is relative to the workspace."""

    place: str
    staged: str
    after: str
    before: str | None
    size: int
    grows: bool


@dataclass(slots=True)
class Plan:
    """What a decided forgetting still has to do, as it stands in ``plan.json``.

    ``removes`` says what stood at a place; ``None`` where it goes whatever it holds.

    ``paths`` are those the index has to follow; a plan that is done but for that has only them.
    """

    change_id: str
    sessions: list[str]
    writes: list[Staged]
    removes: dict[str, str | None]
    paths: list[str]

    def dump(self) -> bytes:
        """The plan as its file holds it."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def load(cls, data: bytes) -> Plan:
        """The plan a file holds.

        Raises:
            ValueError: it is no JSON.
            AttributeError, KeyError, TypeError: it is JSON, but no plan.
        """
        row: Any = json.loads(data)
        return cls(**{**row, "writes": [Staged(**write) for write in row["writes"]]})

    @property
    def places(self) -> list[str]:
        """Every place it changes."""
        return [*(write.place for write in self.writes), *self.removes]
