"""Reads a conversation from a file, whatever wrote it.

Understood: the bundled format, lists of OpenAI-style messages, AgentScope 1.x and 2.x messages
(also inside a saved memory, agent state or session), JSON Lines of messages, and LoCoMo files.
Every session comes back as plain dictionaries that ``Message.from_dict`` reads.
"""

from __future__ import annotations

import json
import re
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from agentscope_reme.errors import BadInput, BadMessage
from agentscope_reme.messages import Message

Row = dict[str, Any]

_FORMATS: Final = (
    "Give a list of messages with `role` and `content`, an object with `sessions`, "
    "saved AgentScope messages, or a LoCoMo file."
)
_LOCOMO_SESSION: Final = re.compile(r"session_(\d+)")
_LOCOMO_TIME: Final = "%I:%M %p on %d %B, %Y"  # 1:56 pm on 8 May, 2023
_LOCOMO_EVIDENCE: Final = re.compile(r"D:?(\d+):0*(\d+)")
_LOCOMO_SINGLE_HOP: Final = 4
_LOCOMO_QUESTIONS: Final = 5


class UnreadableConversation(BadInput):
    """The file is not a conversation in any format that is understood."""


@dataclass(frozen=True, slots=True)
class Session:
    """One sitting: an id, and the messages oldest first."""

    session_id: str
    messages: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """Something to ask later; ``must_contain`` are words a right answer has."""

    question: str
    expected_session: str | None = None
    must_contain: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Conversation:
    """Sessions in order of time, and questions about them; there may be none."""

    sessions: tuple[Session, ...]
    questions: tuple[Question, ...] = ()


def load_conversation(place: Path) -> Conversation:
    """Read a conversation file.

    Args:
        place: a ``.json`` or ``.jsonl`` file; its name becomes the session id where none is given.

    Raises:
        UnreadableConversation: the file cannot be read, is not JSON, or holds no conversation.
    """
    try:
        text = place.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableConversation(
            str(place), f"the file cannot be read ({error})", "Give a UTF-8 JSON file."
        ) from error
    try:
        data = json.loads(text)
    except ValueError as error:
        data = _json_lines(text, place, error)
    try:
        return parse_conversation(data, place.stem)
    except UnreadableConversation as error:
        part = "" if error.given in (data, place.stem) else f" ({reprlib.repr(error.given)})"
        raise UnreadableConversation(str(place), f"{error.reason}{part}", error.remedy) from error


def parse_conversation(data: Any, name: str = "conversation") -> Conversation:
    """Find the format of parsed JSON and read it.

    Args:
        data: what ``json.loads`` returned.
        name: the session id of formats that have none.

    Raises:
        UnreadableConversation: no known format, no messages, or a message that makes no sense.
    """
    match data:
        case {"sessions": [*sessions]}:
            found = Conversation(
                tuple(_bundled_session(row, index, name) for index, row in enumerate(sessions)),
                tuple(_bundled_question(row) for row in data.get("questions") or ()),
            )
        case {"conversation": Mapping() as inner} if _is_locomo(inner):
            found = _locomo({**inner, "qa": data.get("qa", [])}, name)
        case Mapping() if _is_locomo(data):
            found = _locomo(data, name)
        case _:
            session_id, messages = _saved_messages(data, name)
            found = Conversation((_session(session_id, messages),))
    if not any(session.messages for session in found.sessions):
        raise UnreadableConversation(name, "there are no messages in it", _FORMATS)
    return found


def _json_lines(text: str, place: Path, error: ValueError) -> list[Any]:
    try:
        return [json.loads(line) for line in text.split("\n") if line.strip()]
    except ValueError:
        raise UnreadableConversation(
            str(place), f"the file is neither JSON nor JSON Lines ({error})", _FORMATS
        ) from error


def _bundled_session(row: Any, index: int, name: str) -> Session:
    match row:
        case {"messages": [*messages]}:
            return _session(str(row.get("session_id") or f"{name}-{index + 1}"), messages)
        case _:
            raise UnreadableConversation(
                row, f"entry {index} of `sessions` has no list of `messages`", _FORMATS
            )


def _bundled_question(row: Any) -> Question:
    match row:
        case {"question": str(question)}:
            expected = row.get("expected_session")
            must_contain = tuple(str(part) for part in row.get("must_contain") or ())
            return Question(question, None if expected is None else str(expected), must_contain)
        case _:
            raise UnreadableConversation(
                row, "an entry of `questions` has no `question`", 'Write {"question": "..."}.'
            )


def _saved_messages(data: Any, name: str) -> tuple[str, Sequence[Any]]:
    match data:
        case [*messages]:
            return name, messages
        case {"messages": [*messages]}:
            return str(data.get("session_id") or name), messages
        case {"context": [*messages]}:  # AgentScope 2.x: AgentState
            return str(data.get("session_id") or name), messages
        case {"content": [*pairs], "_compressed_summary": _}:  # AgentScope 1.x: InMemoryMemory
            return name, [_without_marks(pair) for pair in pairs]
        case {"memory": Mapping() as memory}:  # AgentScope 1.x: an agent's state
            return _saved_messages(memory, name)
        case {"role": _, "content": _}:
            return name, [data]
        case Mapping() if len(data) == 1:  # AgentScope 1.x: a session file with one agent
            return _saved_messages(next(iter(data.values())), name)
        case _:
            raise UnreadableConversation(
                data, "this is no conversation in a format that is understood", _FORMATS
            )


def _without_marks(pair: object) -> object:
    match pair:
        case [message, [*_marks]]:
            return message
        case _:
            return pair


def _session(session_id: str, messages: Iterable[object]) -> Session:
    return Session(
        session_id, tuple(_message(row, number) for number, row in enumerate(messages, start=1))
    )


def _message(row: object, number: int) -> Row:
    if not isinstance(row, Mapping):
        raise UnreadableConversation(row, f"message {number} is not an object", _FORMATS)
    message = {**row}
    if isinstance(message.get("content"), list):
        # Hints are what a framework whispered to its model; nobody said them.
        message["content"] = [
            part
            for part in message["content"]
            if not (isinstance(part, Mapping) and part.get("type") == "hint")
        ]
    try:
        Message.from_dict(message)
    except BadMessage as error:
        raise UnreadableConversation(
            row, f"message {number}: {error.reason}", error.remedy
        ) from error
    return message


def _is_locomo(data: Mapping[str, Any]) -> bool:
    return any(_LOCOMO_SESSION.fullmatch(str(key)) for key in data)


def _locomo(data: Mapping[str, Any], name: str) -> Conversation:
    numbers = sorted(
        int(match[1]) for key in data if (match := _LOCOMO_SESSION.fullmatch(str(key)))
    )
    sessions = tuple(
        _session(
            f"{name}-{number}",
            _locomo_turns(data[f"session_{number}"], _locomo_time(data, number), number),
        )
        for number in numbers
    )
    asked = (_locomo_question(row, name) for row in data.get("qa") or ())
    questions = [question for question in asked if question is not None]
    return Conversation(sessions, tuple(questions[:_LOCOMO_QUESTIONS]))


def _locomo_time(data: Mapping[str, Any], number: int) -> str | None:
    written = data.get(f"session_{number}_date_time")
    if written is None:
        return None
    try:
        # The zone is not given: a naive time, which the workspace reads in its own.
        return datetime.strptime(str(written).strip(), _LOCOMO_TIME).isoformat()  # noqa: DTZ007
    except ValueError as error:
        raise UnreadableConversation(
            written,
            f"the time of session_{number} is not understood",
            "Write 1:56 pm on 8 May, 2023.",
        ) from error


def _locomo_turns(turns: object, moment: str | None, number: int) -> list[Row]:
    if not isinstance(turns, list):
        raise UnreadableConversation(turns, f"session_{number} is not a list of turns", _FORMATS)
    rows: list[Row] = []
    for turn in turns:
        match turn:
            case {"speaker": str(speaker), "text": str(text)}:
                caption = turn.get("blip_caption")
                said = f"{text} [shares a picture: {caption}]" if caption else text
                row: Row = {"role": "user", "name": speaker, "content": said.strip()}
                if turn.get("dia_id"):
                    row["id"] = str(turn["dia_id"])
                if moment is not None:
                    row["created_at"] = moment
                rows.append(row)
            case _:
                raise UnreadableConversation(
                    turn, f"a turn of session_{number} lacks `speaker` or `text`", _FORMATS
                )
    return rows


def _locomo_question(row: Any, name: str) -> Question | None:
    match row:
        case {"question": str(question), "evidence": [str(evidence), *_]} if row.get(
            "category"
        ) == _LOCOMO_SINGLE_HOP and (place := _LOCOMO_EVIDENCE.search(evidence)):
            return Question(question, f"{name}-{place[1]}")
        case _:
            return None
