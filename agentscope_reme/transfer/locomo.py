"""LoCoMo's conversations: two people, several sessions, each with a date and a time.

The format: ``speaker_a``, ``speaker_b``, ``session_N`` with turns of ``speaker``, ``dia_id`` and
``text``, and ``session_N_date_time`` such as ``1:56 pm on 8 May, 2023``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from agentscope_reme.errors import BadInput
from agentscope_reme.messages import Message, TextBlock
from agentscope_reme.transfer.conversations_file import told_apart
from agentscope_reme.transfer.found import Conversation, Format, Found
from agentscope_reme.transfer.sources import Source

_SESSION: Final = re.compile(r"session_([0-9]{1,9})")
_TIME: Final = "%I:%M %p on %d %B, %Y"
_BETWEEN_TURNS: Final = timedelta(seconds=1)
"""Turns have no time of their own; a second apart keeps their order."""


def find(source: Source, into: str, only_user: str) -> Found:
    """A conversation for every session.

    Raises:
        BadInput: a file cannot be read.
    """
    wanted = [(name, talk) for name in _files(source) for talk in _talks(source, name)]
    count = sum(len(_sessions(talk)) for _, talk in wanted)
    return Found(conversations=_conversations(wanted), conversation_count=count)


def _files(source: Source) -> list[str]:
    return [name for name in source.names() if name.endswith(".json")]


def _talks(source: Source, name: str) -> Iterator[Mapping[str, Any]]:
    """The talks of a file: one, or a list of samples."""
    value = source.json(name)
    for talk in value if isinstance(value, list) else [value]:
        inner = talk.get("conversation", talk) if isinstance(talk, Mapping) else None
        if not isinstance(inner, Mapping) or "speaker_a" not in inner:
            raise BadInput(name, "not a LoCoMo conversation", "Name the format with format=.")
        yield inner


def _sessions(talk: Mapping[str, Any]) -> list[str]:
    named = [key for key in talk if _SESSION.fullmatch(key) and isinstance(talk[key], list)]
    return sorted(named, key=lambda key: int(key.split("_")[1]))


def _conversations(talks: list[tuple[str, Mapping[str, Any]]]) -> Iterator[Conversation]:
    for label, talk in _labelled(talks):
        for key in _sessions(talk):
            messages = told_apart(_messages(talk, key, f"{label}-{key}"))
            if messages:
                yield Conversation(f"locomo-{label}-{key}", messages)


def _labelled(
    talks: list[tuple[str, Mapping[str, Any]]],
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The talks with a name each: that of the file, with its folders where files share one."""
    sizes, numbers = Counter(name for name, _ in talks), Counter[str]()
    stems = Counter(_stem(name) for name in sizes)
    for name, talk in talks:
        label = _stem(name)
        if stems[label] > 1:
            label = name.removesuffix(".json").replace("/", "-")
        numbers[name] += 1
        yield (f"{label}-{numbers[name]}" if sizes[name] > 1 else label), talk


def _stem(name: str) -> str:
    return name.rsplit("/", 1)[-1].removesuffix(".json")


def _messages(talk: Mapping[str, Any], key: str, prefix: str) -> tuple[Message, ...]:
    said = str(talk.get(f"{key}_date_time") or "")
    begun = _moment(said)
    rows = [row for row in talk[key] if isinstance(row, Mapping)]
    return tuple(
        Message(
            id=f"{prefix}-{row.get('dia_id') or index}",
            role="user" if row.get("speaker") == talk.get("speaker_a") else "assistant",
            name=str(row.get("speaker") or "unknown"),
            created_at=_after(begun, index),
            created_at_text=said or None,
            blocks=tuple(TextBlock(text=text) for text in _texts(row)),
        )
        for index, row in enumerate(rows)
        if any(_texts(row))
    )


def _texts(row: Mapping[str, Any]) -> Iterator[str]:
    if text := str(row.get("text") or "").strip():
        yield text
    if caption := row.get("blip_caption"):
        yield f"(shows {caption})"


def _after(begun: datetime | None, index: int) -> datetime | None:
    try:
        return begun + index * _BETWEEN_TURNS if begun else None
    except OverflowError:  # after the year 9999
        return begun


def _moment(said: str) -> datetime | None:
    try:
        return datetime.strptime(said.strip(), _TIME)  # noqa: DTZ007 - the data set has no zone
    except ValueError:
        return None


def _recognises(source: Source) -> bool:
    for name in _files(source)[:1]:
        try:
            return next(_talks(source, name), None) is not None
        except BadInput:
            return False
    return False


LOCOMO: Final = Format("locomo", _recognises, find)
