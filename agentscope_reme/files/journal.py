"""The journal: what was changed, by whom, and what stood there before.

``journal/YYYY-MM.jsonl`` holds one line per change, only ever appended to, and
``journal/blobs/<sha256>`` the file contents it speaks of. A pre-image is the old file itself
under a second name: replacing a file makes a new inode, so the blob stays as it was. An editor
that writes into a file in place could still reach a blob through a name that a failed change
left behind; therefore every blob is checked against its hash when it is read.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import stat
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal

from agentscope_reme.clock import Clock
from agentscope_reme.errors import NotFound, StorageFailed
from agentscope_reme.files.disk import Disk
from agentscope_reme.files.journal_lines import (
    SHA,
    FolderChange,
    JournalEntry,
    PathChange,
    Settlement,
    State,
    dump_entry,
    dump_row,
    parse_line,
)
from agentscope_reme.files.looking import exists, is_file, names_in
from agentscope_reme.schema import content_hash
from agentscope_reme.workspace import Workspace

__all__ = ["FolderChange", "Journal", "JournalEntry", "PathChange", "State"]

_BLOCK_BYTES: Final = 16 * 1024
_MONTH: Final = re.compile(r"\d{4}-\d{2}\.jsonl")


class Journal:
    """The journal of one workspace. Appending is done under the commit lock.

    Attributes:
        unreadable: how many torn or foreign lines a reading skipped; a later complete one corrects
            the number.
    """

    def __init__(self, workspace: Workspace, *, disk: Disk, clock: Clock) -> None:
        self._folder = workspace.journal
        self._blobs = workspace.journal / "blobs"
        self._disk = disk
        self._clock = clock
        self.unreadable = 0

    def open(self) -> None:
        """Make the folders and this month's file, so that a change has one flush less to do.

        Raises:
            StorageFailed: the disk refused, or something else stands in their place.
        """
        self._disk.make_folder(self._blobs)
        place = self._current()
        if not exists(place):
            self._disk.append(place, b"")

    def new_id(self) -> str:
        """An id for a change; ids of later changes sort behind, to the second."""
        moment = self._clock.now().astimezone(UTC)
        return f"{moment:%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}"

    def now(self) -> str:
        """The time to put on an entry."""
        return self._clock.now().isoformat(timespec="milliseconds")

    def append(self, entry: JournalEntry) -> None:
        """Add an entry durably: one flush.

        Raises:
            StorageFailed: the journal is as it was.
        """
        self._disk.append(self._current(), dump_entry(entry))

    def settle(self, change_id: str, state: Literal["done", "aborted"]) -> None:
        """Say durably how an entry ended.

        Raises:
            StorageFailed: the journal is as it was.
        """
        row = {"change_id": change_id, "at": self.now(), "state": state}
        self._disk.append(self._current(), dump_row(row))

    def entries(self) -> Iterator[JournalEntry]:
        """Entries with their final state, newest first; torn and foreign lines are skipped."""
        skipped = 0
        settled: dict[str, State] = {}
        for place in reversed(self._files()):
            for raw in self._lines_backwards(place):
                parsed = parse_line(raw)
                if isinstance(parsed, Settlement):
                    settled.setdefault(parsed.change_id, parsed.state)
                elif parsed is None:
                    skipped += bool(raw.strip())
                else:
                    state = settled.get(parsed.change_id, parsed.state)
                    yield replace(parsed, state=state)
        self.unreadable = skipped

    def entry(self, change_id: str) -> JournalEntry:
        """One entry.

        Raises:
            NotFound: there is none, or it has expired.
        """
        for entry in self.entries():
            if entry.change_id == change_id:
                return entry
        raise NotFound(change_id, "no such change", "Use an id that `history` lists.")

    def last(self) -> JournalEntry | None:
        """The entry of the last readable line, unless that line settled it: the one in doubt.

        Only the newest change can be unfinished, because changes exclude each other.
        """
        skipped = 0
        for place in reversed(self._files()):
            for raw in self._lines_backwards(place):
                parsed = parse_line(raw)
                if parsed is None:
                    skipped += bool(raw.strip())
                    continue
                self.unreadable = max(self.unreadable, skipped)
                return parsed if isinstance(parsed, JournalEntry) else None
        self.unreadable = max(self.unreadable, skipped)
        return None

    def position(self) -> tuple[str, int]:
        """Where the journal ends; it differs when somebody else appended."""
        place = self._current()
        with contextlib.suppress(FileNotFoundError):
            return place.name, place.stat().st_size
        return place.name, 0

    def keep(self, place: Path) -> str:
        """Keep the file at `place` as a blob, by a second name; returns its hash.

        Raises:
            NotFound: there is no such file.
            StorageFailed: it could not be kept.
        """
        digest = self._disk.digest(place)
        blob = self._blobs / digest
        if not self._intact(digest):
            self._disk.link_or_copy(place, blob)
        return digest

    def keep_bytes(self, data: bytes) -> str:
        """Keep `data` as a flushed blob; returns its hash. Its name needs `flush_blobs`.

        Raises:
            StorageFailed: it could not be kept.
        """
        digest = content_hash(data)
        if not self._intact(digest):
            blob = self._blobs / digest
            self._disk.publish(self._disk.stage(blob, data), blob, flush=False)
        return digest

    def flush_blobs(self) -> None:
        """Make the names of all kept blobs durable.

        Raises:
            StorageFailed: the folder could not be flushed.
        """
        self._disk.flush_folders([self._blobs])

    def blob(self, sha: str) -> bytes:
        """A kept content, checked against its hash.

        Raises:
            NotFound: it was never kept, or has expired.
            StorageFailed: it was altered since.
        """
        data = self._disk.read(self._blobs / sha)
        if content_hash(data) != sha:
            raise StorageFailed(sha, "this kept content was altered", "Restore it from a backup.")
        return data

    def blob_mode(self, sha: str) -> int | None:
        """The permission bits a kept file had; ``None`` when it is not kept."""
        with contextlib.suppress(FileNotFoundError):
            return stat.S_IMODE((self._blobs / sha).stat().st_mode)
        return None

    def forget_blob(self, sha: str) -> None:
        """Remove a kept content for good; nothing happens when it is not there.

        Raises:
            StorageFailed: it could not be removed.
        """
        with contextlib.suppress(NotFound):
            self._disk.remove(self._blobs / sha)

    def blobs(self) -> set[str]:
        """The hashes of all kept contents."""
        return {name for name in names_in(self._blobs) if SHA.fullmatch(name)}

    def drop_months_before(self, moment: datetime) -> int:
        """Remove the files of months before the one of `moment`; returns how many.

        Raises:
            StorageFailed: a file could not be removed.
        """
        oldest = f"{moment:%Y-%m}.jsonl"
        old = [place for place in self._files()[:-1] if place.name < oldest]
        for place in old:
            self._disk.remove(place)
        return len(old)

    def _intact(self, digest: str) -> bool:
        """Whether the blob is there and unaltered; an altered one is taken away."""
        try:
            if self._disk.digest(self._blobs / digest) == digest:
                return True
        except NotFound:
            return False
        except StorageFailed:  # whoever asks is about to keep the same content again
            pass
        self._disk.remove(self._blobs / digest, flush=False)
        return False

    def _lines_backwards(self, place: Path) -> Iterator[bytes]:
        """The lines of a log, last one first; only as much of it is read as is asked for."""
        with self._disk.reading(place) as log:
            start = log.seek(0, os.SEEK_END)
            later: list[bytes] = []  # pieces of the line whose beginning is not read yet
            while start > 0:
                end, start = start, max(0, start - _BLOCK_BYTES)
                log.seek(start)
                first, *lines = log.read(end - start).split(b"\n")
                if not lines:
                    later.append(first)
                    continue
                yield b"".join([lines.pop(), *reversed(later)])
                yield from reversed(lines)
                later = [first]
            yield b"".join(reversed(later))

    def _current(self) -> Path:
        """The file to append to: this month's, or a newer one if the clock was set back."""
        name = f"{self._clock.now():%Y-%m}.jsonl"
        newest = self._files()[-1:]
        return self._folder / max([name, *(place.name for place in newest)])

    def _files(self) -> list[Path]:
        months = (self._folder / n for n in names_in(self._folder) if _MONTH.fullmatch(n))
        return sorted(place for place in months if is_file(place))
