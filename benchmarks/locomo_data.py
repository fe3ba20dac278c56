"""Reads LoCoMo conversations: turns, and questions with the turns that answer them.

LoCoMo is a data set of long conversations by Snap Research (Maharana and others, "Evaluating Very
Long-Term Conversational Memory of LLM Agents", ACL 2024); it is not part of this project. Its file
``data/locomo10.json`` in github.com/snap-research/LoCoMo is a list of ten conversations; files of
one conversation each are read as well.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

CATEGORIES: Final = {
    1: "multi-hop",
    2: "temporal",
    3: "open-domain",
    4: "single-hop",
    5: "adversarial",
}
_SESSION: Final = re.compile(r"session_(\d+)")
_EVIDENCE: Final = re.compile(r"D:?(\d+):0*(\d+)")
"""Some ids are written ``D8:6; D9:17``, ``D:11:26`` or ``D30:05``."""
_TIME: Final = "%I:%M %p on %d %B, %Y"


@dataclass(frozen=True, slots=True)
class Turn:
    """Something that was said; `id` is unique in its conversation."""

    id: str
    speaker: str
    text: str
    created_at: str

    def as_message(self) -> dict[str, str]:
        """The turn as a plain message."""
        return {
            "id": self.id,
            "role": "user",
            "name": self.speaker,
            "content": self.text,
            "created_at": self.created_at,
        }


@dataclass(frozen=True, slots=True)
class Question:
    """A question, its category (see `CATEGORIES`) and the ids of the turns that answer it."""

    text: str
    category: int
    evidence: frozenset[str]


@dataclass(frozen=True, slots=True)
class Conversation:
    """Sessions by id, in order, and the questions that have evidence."""

    name: str
    sessions: Mapping[str, tuple[Turn, ...]]
    questions: tuple[Question, ...]


def read_conversations(folder: Path) -> list[Conversation]:
    """Every conversation of a folder, sorted by file name; files of other things are passed by."""
    return [
        conversation
        for place in sorted(folder.glob("*.json"))
        for row, name in _rows(json.loads(place.read_text("utf-8")), place.stem)
        if (conversation := read_conversation(row, name)).sessions
    ]


def told_missing(folder: Path) -> str:
    """What to say of a folder without conversations: where they come from, how they are named."""
    return (
        f"No LoCoMo files in {folder}: get data/locomo10.json from "
        "https://github.com/snap-research/LoCoMo and pass --data FOLDER. That table is left out."
    )


def _rows(data: Any, name: str) -> Iterator[tuple[Mapping[str, Any], str]]:
    """The conversations of a parsed file, named after their samples, or after the file."""
    for row in data if isinstance(data, list) else [data]:
        if isinstance(row, Mapping) and isinstance(row.get("conversation", row), Mapping):
            sample = str(row.get("sample_id", name)) if isinstance(data, list) else name
            yield row, sample.removeprefix("conv-")


def read_conversation(data: Mapping[str, Any], name: str) -> Conversation:
    """One parsed file. Evidence that names no turn of the conversation is dropped."""
    inner = data.get("conversation", data)
    numbers = sorted(int(m[1]) for key in inner if (m := _SESSION.fullmatch(key)))
    sessions = {f"session-{number}": _turns(inner, number) for number in numbers}
    known = {turn.id for turns in sessions.values() for turn in turns}
    questions = tuple(
        Question(str(row["question"]), int(row["category"]), evidence)
        for row in data.get("qa", ())
        if (evidence := _evidence(row) & known)
    )
    return Conversation(name, sessions, questions)


def _turns(data: Mapping[str, Any], number: int) -> tuple[Turn, ...]:
    moment = datetime.strptime(data[f"session_{number}_date_time"].strip(), _TIME)  # noqa: DTZ007
    return tuple(
        Turn(_plain_id(row["dia_id"]), row["speaker"], _said(row), moment.isoformat())
        for row in data[f"session_{number}"]
    )


def _said(row: Mapping[str, Any]) -> str:
    caption = row.get("blip_caption")
    said = f"{row['text']} [shares a picture: {caption}]" if caption else row["text"]
    return str(said).strip()


def _evidence(row: Mapping[str, Any]) -> frozenset[str]:
    written = " ".join(map(str, row.get("evidence") or ()))
    return frozenset(f"D{session}:{turn}" for session, turn in _EVIDENCE.findall(written))


def _plain_id(written: str) -> str:
    match = _EVIDENCE.search(written)
    return f"D{match[1]}:{match[2]}" if match else written
