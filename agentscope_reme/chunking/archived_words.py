"""What an archive says and the log of its session does not: answers of tools, unlogged turns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

ARCHIVE_FOLDER: Final = "session/agentscope/"
"""Where archives lie; their lines are read as those of a log, for what stands nowhere else."""

LOGGED: Final = "logged"
"""The key of a line whose spoken words are in the session's log, and are found there."""

RECALLED: Final = "recalled"
"""The key of a line that names the tool results which are the memory's own answers."""

_LONGEST_CALL: Final = 300
_LONGEST_RESULT: Final = 100_000


def archived_words(row: Mapping[str, Any]) -> str:
    """The words of one archived message that are searched, one piece to a line.

    Args:
        row: the line of the archive, whose ``blocks`` is a list.
    """
    blocks = [block for block in row["blocks"] if isinstance(block, Mapping)]
    calls = {b.get("id"): b for b in blocks if b.get("type") == "tool_call"}
    recalled = row.get(RECALLED) or ()
    pieces: list[str] = []
    for block in blocks:
        match block:
            case {"type": "text", "text": str(text)} if row.get(LOGGED) is not True:
                pieces.append(text)
            case {"type": "data"} if row.get(LOGGED) is not True:
                pieces += _kept(block)
            case {"type": "tool_result", "output": list(output)} if block.get("id") not in recalled:
                pieces += _answer(block, calls.get(block.get("id")), output)
    return "\n".join(piece for piece in pieces if piece.strip())


def _answer(
    block: Mapping[str, Any], call: Mapping[str, Any] | None, output: list[Any]
) -> Iterator[str]:
    said = [piece for part in output if isinstance(part, Mapping) for piece in _part(part)]
    if not said:
        return
    given = str(call.get("input", ""))[:_LONGEST_CALL] if call is not None else ""
    yield f"{block.get('name') or 'tool'} {given}".strip() + " answered:"
    yield "\n".join(said)[:_LONGEST_RESULT]


def _part(part: Mapping[str, Any]) -> Iterator[str]:
    match part:
        case {"type": "text", "text": str(text)}:
            yield text
        case {"type": "data"}:
            yield from _kept(part)


def _kept(block: Mapping[str, Any]) -> Iterator[str]:
    """Where an attachment is, when it is in a file."""
    if isinstance(block.get("path"), str):
        yield f"({block.get('media_type')}: {block['path']})"
