"""Session logs: what was said, by whom and when, message by message."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from agentscope_reme.chunking.archived_words import ARCHIVE_FOLDER, archived_words
from agentscope_reme.chunking.chunker import ChunkList, byte_length, checked_size
from agentscope_reme.chunking.cutting import cut_line
from agentscope_reme.chunking.turn_labels import Speaker
from agentscope_reme.files.text_encoding import BOM, without_surrogates
from agentscope_reme.schema import FileChunk

_LONGEST_NAME: Final = 80


@dataclass(frozen=True, slots=True)
class _Turn:
    line: int
    id: str | None
    speaker: Speaker
    text: str


class SessionLogChunker:
    """Packs whole messages, rendered ``[name @ date time] text``, up to the chunk size.

    Control lines (anything with ``type`` at top level), unreadable lines, messages without words
    and versions that a later line replaces are left out. Of an archive, only what the log of its
    session does not say is taken (see `archived_words`). The text is made from the lines, not a
    slice of them: ``metadata["rendered"]`` is true, ``metadata["messages"]`` names the ids, and
    ``metadata["days"]`` the days they were said on, as ``YYYY-MM-DD``, where any is known.
    A message larger than a chunk is cut, and each part repeats the label (see `turn_labels`).

    Args:
        chunk_byte_size: the largest chunk, in UTF-8 bytes.

    Raises:
        BadInput: the size is too small.
    """

    def __init__(self, chunk_byte_size: int = 10_000) -> None:
        self.chunk_byte_size: Final = checked_size(chunk_byte_size)

    def chunk(self, path: str, text: str) -> list[FileChunk]:
        """The chunks of one log; see `Chunker.chunk`."""
        cutter = SessionLogCutter(path, self.chunk_byte_size)
        cutter.begin(text)
        return cutter.take()


class SessionLogCutter:
    """Cuts a log that grows: what it gives together is what `SessionLogChunker` gives at once.

    A chunk is finished when the next message does not fit any more. The last one is given as it
    stands, and again when it has grown.

    Args:
        path: the workspace path, which goes into the chunk ids.
        chunk_byte_size: the largest chunk, in UTF-8 bytes.

    Attributes:
        lines: how many lines were taken in.
    """

    def __init__(self, path: str, chunk_byte_size: int) -> None:
        self._size: Final = chunk_byte_size
        self._found = ChunkList(path)
        self._pack: list[_Turn] = []
        self._shown: list[str] = []
        self._pack_size = 0
        self._words: Final = archived_words if path.startswith(ARCHIVE_FOLDER) else _words
        self.lines = 0

    @property
    def open_line(self) -> int:
        """Chunks that begin before this line (1-based) are finished."""
        return self._pack[0].line if self._pack else self.lines + 1

    def begin(self, text: str) -> None:
        """Take in the first lines of a log."""
        rows = _rows(without_surrogates(text).removeprefix(BOM), 1)
        self._add(_turns(rows, self._words))
        self.lines = text.count("\n")

    def grow(self, text: str) -> bool:
        """Take in further whole lines.

        Returns:
            False when one of them replaces an earlier message, perhaps in a finished chunk:
            nothing was taken in, and the log has to be cut anew.
        """
        rows = _rows(without_surrogates(text), self.lines + 1)
        if any(isinstance(row.get("supersedes"), str) for row in rows.values()):
            return False
        self._add(_turns(rows, self._words))
        self.lines += text.count("\n")
        return True

    def take(self) -> list[FileChunk]:
        """The chunks finished since the last call, and the unfinished one."""
        chunks = [*self._found.chunks]
        self._found.chunks.clear()
        if self._pack:
            chunks.append(self._found.unfinished(*self._packed(), metadata=_metadata(self._pack)))
        return chunks

    def _add(self, turns: Iterable[_Turn]) -> None:
        for turn in turns:
            before = self._pack[-1].speaker if self._pack else None
            shown = turn.speaker.label(turn.text, before) + turn.text
            if self._pack and self._pack_size + byte_length(shown) > self._size:
                self._finish()
                shown = turn.speaker.label(turn.text) + turn.text
            if byte_length(shown) > self._size:
                self._cut(turn)
            else:
                self._pack.append(turn)
                self._shown.append(shown)
                self._pack_size += byte_length(shown) + 1

    def _finish(self) -> None:
        self._found.add(*self._packed(), metadata=_metadata(self._pack))
        self._pack, self._shown, self._pack_size = [], [], 0

    def _packed(self) -> tuple[str, int, int]:
        """Text, first and last line of the chunk of whole messages."""
        return "\n".join(self._shown), self._pack[0].line, self._pack[-1].line

    def _cut(self, turn: _Turn) -> None:
        label = turn.speaker.label(turn.text)
        room = self._size - byte_length(label)
        # A label that leaves no room for words is not worth repeating.
        label = label if room >= self._size // 2 else ""
        room = room if label else self._size
        pieces = [turn.text[a:b] for a, b in cut_line(turn.text, room)]
        for part, piece in enumerate(pieces, 1):
            if piece.strip():
                metadata = _metadata([turn]) | {"part": part, "parts": len(pieces)}
                text = label + piece.rstrip()
                self._found.add(text, turn.line, turn.line, metadata=metadata)


def _metadata(pack: list[_Turn]) -> dict[str, Any]:
    said: dict[str, Any] = {
        "rendered": True,
        "messages": [turn.id for turn in pack if turn.id is not None],
    }
    days = sorted({turn.speaker.digits for turn in pack} - {""})
    return said | {"days": days} if days else said


def _rows(text: str, first_line: int) -> dict[int, Mapping[str, Any]]:
    """The message lines of a text, by line number."""
    numbered = enumerate(text.split("\n"), first_line)
    return {number: row for number, line in numbered if (row := _message_row(line)) is not None}


def _turns(
    said: Mapping[int, Mapping[str, Any]], words_of: Callable[[Mapping[str, Any]], str]
) -> Iterator[_Turn]:
    """The newest version of every message, in file order."""
    rows: dict[int, Mapping[str, Any]] = {}
    newest: dict[str, int] = {}
    for number, row in said.items():
        replaced = row.get("supersedes")
        if isinstance(replaced, str) and replaced in newest:
            rows.pop(newest[replaced], None)
        if isinstance(row.get("id"), str):
            newest[row["id"]] = number
        rows[number] = row
    for number, row in rows.items():
        words = without_surrogates(words_of(row)).strip()
        if words:
            message_id = row.get("id")
            yield _Turn(
                number, message_id if isinstance(message_id, str) else None, _speaker(row), words
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
    return "\n".join(said)


def _speaker(row: Mapping[str, Any]) -> Speaker:
    name = without_surrogates(str(row.get("name") or row.get("role") or "unknown"))[:_LONGEST_NAME]
    moment = without_surrogates(str(row.get("created_at") or ""))[:_LONGEST_NAME]
    return Speaker.of(name, moment) if moment else Speaker(name)
