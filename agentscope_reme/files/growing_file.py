"""Reading a file that others append to: only what is new, as long as the rest is what it was."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from agentscope_reme.files.disk import Disk

_BLOCK_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class FileMark:
    """What the file system says of a file's bytes: equal marks mean that nobody wrote to it."""

    inode: int
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Extension:
    """An append: the marks around it, with nothing else between them, and what was added.

    There is no `before` when the file is new.
    """

    before: FileMark | None
    after: FileMark
    data: bytes


def mark_of(place: Path) -> FileMark | None:
    """The mark of a file; ``None`` when there is none."""
    try:
        return _mark(place.stat())
    except OSError:
        return None


class GrowingFile:
    """How much of a file was read, and whether the file still begins with it.

    A file whose mark changed may have grown or may have been edited in place. The hash of what was
    read tells them apart, unless the caller knows that it only grew (an `Extension`). Not
    thread-safe.

    Args:
        disk: how the file is read.

    Attributes:
        size: bytes taken so far.
        mark: the file when it was last looked at.
    """

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._hash = hashlib.sha256()
        self.size = 0
        self.mark: FileMark | None = None

    @property
    def content_hash(self) -> str:
        """The SHA-256 of the bytes taken, in hex, as `schema.content_hash` makes it."""
        return self._hash.hexdigest()

    def unread(self, place: Path, known: Extension | None = None) -> bytes | None:
        """The bytes behind those taken; ``None`` when the file no longer begins with these.

        Args:
            place: the file.
            known: an append of this process. Where it continues what was taken, the file is not
                opened: whoever wrote to it since is noticed by the next look.

        Raises:
            NotFound: there is no file.
            StorageFailed: it cannot be read.
        """
        if known is not None and self._is_continued_by(known):
            self.mark = known.after
            return known.data
        with self._disk.reading(place) as file:
            now = _mark(os.fstat(file.fileno()))
            if self.mark not in (None, now) and not self._begins(file, now):
                return None
            file.seek(self.size)
            data = file.read(now.size - self.size)
        self.mark = now
        return data

    def take(self, data: bytes) -> None:
        """Count these bytes, which follow those taken, as read."""
        self._hash.update(data)
        self.size += len(data)

    def _is_continued_by(self, known: Extension) -> bool:
        return (
            self.mark is not None
            and known.before == self.mark
            and known.after.inode == self.mark.inode
            and self.mark.size == self.size
        )

    def _begins(self, file: BinaryIO, now: FileMark) -> bool:
        if self.mark is None or now.inode != self.mark.inode or now.size < self.size:
            return False
        digest = hashlib.sha256()
        rest = self.size
        while rest and (block := file.read(min(rest, _BLOCK_BYTES))):
            digest.update(block)
            rest -= len(block)
        return digest.digest() == self._hash.digest()


def _mark(status: os.stat_result) -> FileMark:
    return FileMark(status.st_ino, status.st_size, status.st_mtime_ns)
