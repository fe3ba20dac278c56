"""What a log says, kept in memory by position and fingerprint and continued as the file grows."""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from agentscope_reme.errors import NotFound
from agentscope_reme.files.disk import Disk
from agentscope_reme.files.forgotten import Forgotten, ForgottenLines
from agentscope_reme.files.growing_file import Extension, GrowingFile, mark_of
from agentscope_reme.files.session_lines import (
    Distilled,
    Header,
    LoggedMessage,
    Row,
    keys_of,
    message_of,
    parse_line,
)

_KEPT_MESSAGES: Final = 100_000
"""Messages, over all logs, whose ids and fingerprints stay in memory: about half a KB each."""


class RowAt(NamedTuple):
    """Where the newest line of a message stands, in lines and bytes, and what it says, hashed."""

    line: int
    start: int
    size: int
    said: bytes


class KnownLine(NamedTuple):
    """A line about to be appended, and what it says of a message; ``None`` for other lines."""

    raw: bytes
    message: tuple[str, str, bytes] | None = None
    """Id, identity and content key."""


@dataclass
class ParsedLog:
    """What the lines of one file say together; texts stay on the disk."""

    session_id: str | None = None
    """What the header says; ``None`` without one."""
    rows: dict[str, RowAt] = field(default_factory=dict)
    """The newest line of every id, in order of first arrival."""
    order: list[tuple[str, str]] = field(default_factory=list)
    """Identity and id of every message as it first arrived."""
    alike: dict[str, list[str]] = field(default_factory=dict)
    """The ids of messages of one identity, in order of arrival."""
    arrived: list[tuple[int, str]] = field(default_factory=list)
    """Line and id of every message line, replaced ones included."""
    distilled: list[Distilled] = field(default_factory=list)
    forgotten: ForgottenLines = field(default_factory=ForgottenLines)
    """Their keys stand for the ids in `order`."""
    unreadable: set[int] = field(default_factory=set)
    cursor: int = 0
    lines: int = 0
    size: int = 0

    def add_all(self, data: bytes) -> None:
        """Take in more of the file: whole lines, save perhaps the very last of all."""
        lines = data.split(b"\n")
        for raw in lines if lines[-1] else lines[:-1]:
            self.lines += 1
            if raw.strip():
                self._add(self.lines, raw)
            self.size += len(raw) + 1

    def add_known(self, lines: Sequence[KnownLine]) -> None:
        """Take in lines of our own, of which the messages need not be parsed."""
        for raw, message in lines:
            self.lines += 1
            if message is None:
                self._add(self.lines, raw)
            else:
                self._add_message(self.lines, len(raw), *message)
            self.size += len(raw) + 1

    def has_forgotten(self, message_id: str) -> bool:
        """Whether a message with this id, or the key that stands for it, was forgotten."""
        return self.forgotten.has_id(message_id)

    def waiting(self) -> list[tuple[str, RowAt]]:
        """The newest versions behind the cursor, in order of arrival."""
        first = bisect_right(self.arrived, self.cursor, key=lambda pair: pair[0])
        newest = ((line, name, self.rows[name]) for line, name in self.arrived[first:])
        return [(name, row) for line, name, row in newest if row.line == line]

    def _add(self, number: int, raw: bytes) -> None:
        try:
            line = parse_line(number, raw)
        except ValueError:
            self.unreadable.add(number)
            return
        match line:
            case Header():
                self.session_id = self.session_id or line.session_id
            case Distilled():
                self.distilled.append(line)
                row = self.rows.get(line.through)
                self.cursor = max(self.cursor, line.line or (row.line if row else 0))
            case Forgotten():
                self.forgotten.add(line)
                if not line.again:
                    self.order.append(("", line.key))
            case Row():
                self._add_message(number, len(raw), line.id, *keys_of(line.fields))

    def _add_message(self, line: int, size: int, name: str, identity: str, said: bytes) -> None:
        if name not in self.rows:
            self.order.append((identity, name))
            self.alike.setdefault(identity, []).append(name)
        self.arrived.append((line, name))
        self.rows[name] = RowAt(line, self.size, size, said)


class LogState:
    """The parsed state of one file. Hold `lock` around every use.

    Args:
        disk: how the file is read.
        place: the file.
    """

    def __init__(self, disk: Disk, place: Path) -> None:
        self._disk = disk
        self._place = place
        self._file = GrowingFile(disk)
        self._kept = ParsedLog()
        self.lock: Final = threading.RLock()

    @property
    def messages(self) -> int:
        """How many messages are kept."""
        return len(self._kept.rows)

    def known_session(self) -> str | None:
        """Whose log the file was when it was read; ``None`` when somebody wrote to it since."""
        mark = mark_of(self._place)
        return None if mark is None or mark != self._file.mark else self._kept.session_id

    def current(self) -> ParsedLog:
        """What the file says now; only what it did not say before is parsed.

        A last line without its end may still be growing or be torn: it is read, not remembered.

        Raises:
            StorageFailed: the file cannot be read.
        """
        mark = mark_of(self._place)
        if mark is None:
            self._forget()
        elif mark != self._file.mark or self._file.size != mark.size:
            return self._caught_up()
        return self._kept

    def append(self, lines: Sequence[KnownLine]) -> Extension | None:
        """Append lines; called under the session lock after `current`.

        Returns:
            The marks around the append; ``None`` when others wrote past the lock.

        Raises:
            StorageFailed: the file is as it was.
        """
        data = b"".join(line.raw + b"\n" for line in lines)
        before, size = self._file.mark, self._file.size
        is_whole = before is None or before.size == size
        self._disk.append(self._place, data)
        after = mark_of(self._place)
        if after is None or not is_whole or after.size != size + len(data):
            return None
        if before is not None and before.inode != after.inode:
            return None
        self._file.take(data)
        self._file.mark = after
        self._kept.add_known(lines)
        return Extension(before, after, data)

    def read(self, rows: Sequence[tuple[str, RowAt]], bad: set[int]) -> list[LoggedMessage]:
        """The messages of these rows; lines that hold none of ours are added to `bad`."""
        if not rows:
            return []
        found = []
        with self._disk.reading(self._place) as file:
            for name, at in rows:
                file.seek(at.start)
                try:
                    line = parse_line(at.line, file.read(at.size))
                    if isinstance(line, Row) and line.id == name:
                        found.append(LoggedMessage(at.line, message_of(line), name))
                except ValueError:
                    bad.add(at.line)
        return found

    def _caught_up(self) -> ParsedLog:
        try:
            data = self._file.unread(self._place)
            if data is None:
                self._forget()
                data = self._file.unread(self._place) or b""
        except NotFound:
            self._forget()
            return self._kept
        whole, end, loose = data.rpartition(b"\n")
        self._file.take(whole + end)
        self._kept.add_all(whole + end)
        if not loose:
            return self._kept
        everything = ParsedLog()
        everything.add_all(self._disk.read(self._place))
        return everything

    def _forget(self) -> None:
        self._file = GrowingFile(self._disk)
        self._kept = ParsedLog()


class LogStates:
    """The states of the logs used last; bounded. Thread-safe.

    Args:
        disk: how logs are read.
        kept_messages: how many messages to keep in all; the log in use stays whatever its size.
    """

    def __init__(self, disk: Disk, kept_messages: int = _KEPT_MESSAGES) -> None:
        self._disk = disk
        self._limit = kept_messages
        self._states: OrderedDict[Path, LogState] = OrderedDict()
        self._guard = threading.Lock()

    def of(self, place: Path) -> LogState:
        """The state of the file at `place`."""
        with self._guard:
            state = self._states.pop(place, None) or LogState(self._disk, place)
            self._states[place] = state
            kept = sum(state.messages for state in self._states.values())
            while kept > self._limit and len(self._states) > 1:
                kept -= self._states.popitem(last=False)[1].messages
            return state
