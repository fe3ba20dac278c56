"""Session logs: what was said, by whom and when, message by message."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from agentscope_reme.chunking.chunker import ChunkList, byte_length, checked_size
from agentscope_reme.chunking.cutting import cut_line
from agentscope_reme.files.text_encoding import BOM, without_surrogates
from agentscope_reme.schema import FileChunk

_LONGEST_NAME: Final = 80


@dataclass(frozen=True, slots=True)
class _Turn:
    line: int
    id: str | None
    label: str
    text: str


class SessionLogChunker:
    """Packs whole messages, rendered ``[name @ created_at] text``, up to the chunk size.

    Control lines (anything with ``type`` at top level), unreadable lines, messages without words
    and versions that a later line replaces are left out. The text is made from the lines, not a
    slice of them: ``metadata["rendered"]`` is true, and ``metadata["messages"]`` names the ids.
    A message larger than a chunk is cut, and each part repeats the label.

    Args:
        chunk_byte_size: the largest chunk, in UTF-8 bytes.

    Raises:
        BadInput: the size is too small.
    """

    def __init__(self, chunk_byte_size: int = 10_000) -> None:
        self.chunk_byte_size: Final = checked_size(chunk_byte_size)

    def chunk(self, path: str, text: str) -> list[FileChunk]:
        """The chunks of one log; see `Chunker.chunk`."""
        found = ChunkList(path)
        pack: list[_Turn] = []
        pack_size = 0
        for turn in _turns(without_surrogates(text).removeprefix(BOM)):
            size = byte_length(turn.label) + byte_length(turn.text) + 1
            if pack and pack_size + size - 1 > self.chunk_byte_size:
                _add_pack(found, pack)
                pack, pack_size = [], 0
            if size - 1 > self.chunk_byte_size:
                self._cut(found, turn)
            else:
                pack.append(turn)
                pack_size += size
        _add_pack(found, pack)
        return found.chunks

    def _cut(self, found: ChunkList, turn: _Turn) -> None:
        room = self.chunk_byte_size - byte_length(turn.label)
        # A label that leaves no room for words is not worth repeating.
        label = turn.label if room >= self.chunk_byte_size // 2 else ""
        room = room if label else self.chunk_byte_size
        pieces = [turn.text[a:b] for a, b in cut_line(turn.text, room)]
        for part, piece in enumerate(pieces, 1):
            if piece.strip():
                metadata = _metadata([turn]) | {"part": part, "parts": len(pieces)}
                text = label + piece.rstrip()
                found.add(text, turn.line, turn.line, metadata=metadata)


def _add_pack(found: ChunkList, pack: list[_Turn]) -> None:
    if pack:
        text = "\n".join(turn.label + turn.text for turn in pack)
        found.add(text, pack[0].line, pack[-1].line, metadata=_metadata(pack))


def _metadata(pack: list[_Turn]) -> dict[str, Any]:
    return {"rendered": True, "messages": [turn.id for turn in pack if turn.id is not None]}


def _turns(text: str) -> Iterator[_Turn]:
    """The newest version of every message, in file order."""
    rows: dict[int, Mapping[str, Any]] = {}
    newest: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), 1):
        row = _message_row(line)
        if row is None:
            continue
        replaced = row.get("supersedes")
        if isinstance(replaced, str) and replaced in newest:
            rows.pop(newest[replaced], None)
        if isinstance(row.get("id"), str):
            newest[row["id"]] = number
        rows[number] = row
    for number, row in rows.items():
        words = _words(row)
        if words:
            message_id = row.get("id")
            yield _Turn(
                number, message_id if isinstance(message_id, str) else None, _label(row), words
            )


def _message_row(line: str) -> Mapping[str, Any] | None:
    if not line.strip():
        return None
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict) or "type" in row or not isinstance(row.get("blocks"), list):
        return None
    return row


def _words(row: Mapping[str, Any]) -> str:
    said = [
        block["text"]
        for block in row["blocks"]
        if isinstance(block, dict)
        and block.get("type") == "text"
        and isinstance(block.get("text"), str)
    ]
    return without_surrogates("\n".join(said)).strip()


def _label(row: Mapping[str, Any]) -> str:
    name = without_surrogates(str(row.get("name") or row.get("role") or "unknown"))[:_LONGEST_NAME]
    moment = row.get("created_at")
    return f"[{name} @ {str(moment)[:_LONGEST_NAME]}] " if moment else f"[{name}] "
