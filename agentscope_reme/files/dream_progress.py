"""The events and the state of dreaming: plain values, and how one follows from the other."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, Literal

_MOST_TOPICS: Final = 40  # of workflows that never choose any

ReadState = Literal["done", "waiting", "failed"]


@dataclass(frozen=True, slots=True)
class ReadFile:
    """How far one daily file was read.

    Attributes:
        content_hash: of the text that was read, or was to be read.
        state: ``waiting`` files did not fit, ``failed`` ones are tried again.
        offset: characters of this content that were read already.
        attempts: how often reading it failed.
    """

    content_hash: str
    state: ReadState = "done"
    offset: int = 0
    attempts: int = 0


@dataclass(frozen=True, slots=True)
class WaitingUnit:
    """A memory unit that is not in a digest node yet.

    ``attempts`` and ``reason`` tell how often, and why last, integrating it failed.
    """

    id: str
    name: str
    summary: str
    bucket: str
    paths: tuple[str, ...]
    attempts: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run settles: the units that are integrated, and the reasons of those that failed.

    ``used_topics`` says that the topics that waited were looked at.
    """

    day: str
    settled: tuple[str, ...] = ()
    failed: Mapping[str, str] = field(default_factory=dict)
    used_topics: bool = False


@dataclass(frozen=True, slots=True)
class Prepared:
    """An outcome that is about to be committed.

    Attributes:
        outcome: what is settled once the commit is made.
        after_change: the newest change of the journal before the commit; empty for none.
        paths: the files the commit changes, sorted.
    """

    outcome: Outcome
    after_change: str
    paths: tuple[str, ...]


@dataclass(slots=True)
class DreamState:
    """Everything the checkpoint says. ``last_day`` is the day of the latest finished run."""

    files: dict[str, ReadFile] = field(default_factory=dict)
    units: dict[str, WaitingUnit] = field(default_factory=dict)
    topics: list[dict[str, Any]] = field(default_factory=list)
    last_day: str = ""
    prepared: Prepared | None = None


def read_line(state: DreamState, line: bytes) -> bool:
    """Take one line into the state; false when it is empty, torn or none of ours."""
    try:
        row = json.loads(line)
        apply_event(state, row)
    except (ValueError, TypeError, KeyError, AttributeError):
        return False
    return True


def apply_event(state: DreamState, row: Mapping[str, Any]) -> None:
    """Take one event into the state.

    Raises:
        ValueError: it is none of ours; so are `KeyError`, `TypeError` and `AttributeError`.
    """
    match row["type"]:
        case "read":
            _apply_read(state, row)
        case "prepared":
            state.prepared = Prepared(
                _outcome(row["outcome"]), str(row["after_change"]), tuple(row["paths"])
            )
        case "abandoned":
            state.prepared = None
        case "done":
            _apply_done(state, _outcome(row["outcome"]))
        case "state":
            _apply_read(state, row)
            state.last_day = str(row["last_day"])
        case other:
            raise ValueError(f"no such event: {other!r}")


def _apply_read(state: DreamState, row: Mapping[str, Any]) -> None:
    for path in row.get("gone", ()):
        state.files.pop(path, None)
    for name in row.get("dropped", ()):
        state.units.pop(name, None)
    for path, fields in row["files"].items():
        with contextlib.suppress(TypeError):  # a forgetting may have taken a part of it away
            state.files[path] = ReadFile(**fields)
    for fields in row["units"]:
        with contextlib.suppress(TypeError, KeyError):
            unit = WaitingUnit(**{**fields, "paths": tuple(fields["paths"])})
            state.units[unit.id] = unit
    state.topics = [*state.topics, *(dict(topic) for topic in row["topics"])][-_MOST_TOPICS:]


def _apply_done(state: DreamState, outcome: Outcome) -> None:
    state.prepared = None
    for name in outcome.settled:
        state.units.pop(name, None)
    for name, reason in outcome.failed.items():
        unit = state.units.get(name)
        if unit is not None:
            state.units[name] = replace(unit, attempts=unit.attempts + 1, reason=reason)
    if outcome.used_topics:
        state.topics = []
    state.last_day = max(state.last_day, outcome.day)


def _outcome(row: Mapping[str, Any]) -> Outcome:
    return Outcome(
        str(row["day"]),
        tuple(row["settled"]),
        dict(row["failed"]),
        bool(row["used_topics"]),
    )


def state_row(state: DreamState) -> dict[str, Any]:
    """The whole state; what is prepared is not part of it, it is settled before anything else."""
    return {
        "type": "state",
        "files": {path: asdict(file) for path, file in state.files.items()},
        "units": [asdict(unit) for unit in state.units.values()],
        "topics": state.topics,
        "last_day": state.last_day,
    }
