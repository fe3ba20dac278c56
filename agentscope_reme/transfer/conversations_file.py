"""The file both ChatGPT and Claude put a person's conversations into."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from agentscope_reme.errors import BadInput
from agentscope_reme.messages import Message
from agentscope_reme.transfer.sources import Source, is_vault

_NAME: Final = "conversations.json"


def conversation_files(source: Source) -> list[str]:
    """Where conversations stand: ``conversations.json``, numbered parts of it, or the one file."""
    names = source.names()
    if len(names) == 1 and names[0].lower().endswith(".json"):
        return names
    return [name for name in names if _is_named(name.rsplit("/", 1)[-1].lower())]


def rows_of(source: Source) -> list[Mapping[str, Any]]:
    """The conversations, as the export has them.

    Raises:
        BadInput: a file is not a list of objects.
    """
    rows: list[Mapping[str, Any]] = []
    for name in conversation_files(source):
        value = source.json(name)
        if not isinstance(value, list) or not all(isinstance(row, Mapping) for row in value):
            raise BadInput(name, "not a list of conversations", "Export them again.")
        rows += value
    return rows


def looks_like(source: Source, key: str) -> bool:
    """Whether the first conversation has a key only one of the formats has."""
    for name in () if is_vault(source) else conversation_files(source):
        try:
            value = source.json(name)
        except BadInput:
            return False
        first = value[0] if isinstance(value, list) and value else None
        return isinstance(first, Mapping) and key in first
    return False


def mapping_of(value: Any) -> Mapping[str, Any]:
    """A mapping of an export; an empty one where something else stands."""
    return value if isinstance(value, Mapping) else {}


def list_of(value: Any) -> Sequence[Any]:
    """A list of an export; an empty one where something else stands."""
    return value if isinstance(value, list) else ()


def text_of(value: Any) -> str:
    """A text of an export; an empty one where something else stands."""
    return value if isinstance(value, str) else ""


def told_apart(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Messages with ids of their own: a second one of an id would stand for a correction."""
    seen: Counter[str] = Counter()
    kept: list[Message] = []
    for message in messages:
        if message.id is not None:
            seen[message.id] += 1
            if (time := seen[message.id]) > 1:
                message = message.model_copy(update={"id": f"{message.id}-{time}"})
        kept.append(message)
    return tuple(kept)


def _is_named(name: str) -> bool:
    stem = _NAME.removesuffix(".json")
    return name.startswith(stem) and name.endswith(".json")
