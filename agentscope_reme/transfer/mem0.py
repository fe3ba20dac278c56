"""mem0's memories, as its ``get_all`` returns them: statements with dates, and no conversations.

The format: a list, or ``{"results": [...]}``, of ``id``, ``memory``, ``created_at``,
``updated_at`` and ``user_id``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

from agentscope_reme.errors import BadInput
from agentscope_reme.messages import parse_moment
from agentscope_reme.transfer.found import Format, Found, Note
from agentscope_reme.transfer.sources import Source

_UNDATED: Final = "undated"
_SHOWN_USERS: Final = 10


def find(source: Source, into: str, only_user: str) -> Found:
    """A card for each day something was learnt on; what has no date goes into one digest node.

    Raises:
        BadInput: the export cannot be read, or holds memories of several users.
    """
    rows = [row for name in _files(source) for row in _rows(source.json(name)) or ()]
    kept = _of_one_user(rows, only_user)
    notes = [_note(day, lines) for day, lines in sorted(_by_day(kept).items())]
    told = [f"{len(kept)} memories were taken over."]
    if len(kept) < len(rows):
        told.append(f"{len(rows) - len(kept)} of other users were left out.")
    return Found(notes=iter(notes), note_count=len(notes), remarks=told)


def _files(source: Source) -> list[str]:
    return [name for name in source.names() if name.endswith(".json")]


def _rows(value: Any) -> list[Mapping[str, Any]] | None:
    found = value.get("results") if isinstance(value, Mapping) else value
    if not isinstance(found, list) or not all(_is_memory(row) for row in found):
        return None
    return found


def _is_memory(row: Any) -> bool:
    return isinstance(row, Mapping) and isinstance(row.get("memory"), str) and "id" in row


def _of_one_user(rows: Sequence[Mapping[str, Any]], only_user: str) -> list[Mapping[str, Any]]:
    """Whose memories these are is said by the person, never guessed."""
    users = sorted({str(row.get("user_id") or "") for row in rows})
    if only_user:
        if only_user not in users:
            raise BadInput(only_user, "the export has no such user", f"It has {_named(users)}.")
        return [row for row in rows if str(row.get("user_id") or "") == only_user]
    if len(users) > 1:
        raise BadInput(
            len(users),
            f"the export holds memories of several users: {_named(users)}",
            "Pass only_user= for one of them, and user= for the memory they go into.",
        )
    return list(rows)


def _named(users: Sequence[str]) -> str:
    more = f" and {len(users) - _SHOWN_USERS} more" if len(users) > _SHOWN_USERS else ""
    return ", ".join(map(repr, users[:_SHOWN_USERS])) + more


def _by_day(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    days: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for row in rows:
        moment = parse_moment(row.get("created_at"))
        day = moment.date().isoformat() if moment else _UNDATED
        if text := " ".join(row["memory"].split()):
            known = " ".join(str(row["id"]).split())
            days[day].append((str(row.get("created_at") or ""), f"- {text} (mem0 {known})"))
    return {day: [line for _, line in sorted(lines)] for day, lines in days.items()}


def _note(day: str, lines: Sequence[str]) -> Note:
    dated = day != _UNDATED
    path = f"daily/{day}/mem0.md" if dated else "digest/personal/mem0.md"
    when = f"of {day}" if dated else "without a date"
    head = ["---", "name: Memories from mem0", f"description: Memories {when}, from mem0.", "---"]
    return Note(path, "\n".join([*head, "", *lines, ""]).encode("utf-8", "replace"))


def _recognises(source: Source) -> bool:
    return any(_looks_right(source, name) for name in _files(source)[:1])


def _looks_right(source: Source, name: str) -> bool:
    try:
        return bool(_rows(source.json(name)))
    except BadInput:
        return False


MEM0: Final = Format("mem0", _recognises, find)
