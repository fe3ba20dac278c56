"""The one seam between this library and the file system: every durable write goes through here.

What a power cut or ``kill -9`` may cost: a document that was being replaced is the old one or the
new one, never a mixture; a line that was being appended may be torn, and stays alone on its line.
After a method returned, its effect survives both.

A folder that had to be made on the way is flushed through its first entry: journaling file
systems commit the child and its name in the parent in one transaction.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import stat
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Final

from agentscope_reme.errors import NotFound, StorageFailed

_TEMPORARY: Final = re.compile(r"\..+\.[0-9a-f]{16}\.tmp", re.DOTALL)
_LONGEST_STEM: Final = 60  # bytes; the file's own name may already fill what a disk allows
_PIECE_BYTES: Final = 256 * 1024
_NEW_FILE_MODE: Final = 0o666  # narrowed by the umask, as `open` does
_WAY_OUT: Final = "Free space or fix the permissions, then try again; nothing half-written stays."


def is_temporary(name: str) -> bool:
    """Whether a file name is one that `Disk` gives to unfinished files."""
    return _TEMPORARY.fullmatch(name) is not None


def is_temporary_of(name: str, finished: str) -> bool:
    """Whether `name` is an unfinished version of the file called `finished`."""
    return is_temporary(name) and name.startswith(f".{_stem(finished)}.")


class Disk:
    """Reads, replaces and appends so that an acknowledged byte stays.

    Args:
        fsync: flush to the device before returning; only throw-away workspaces turn this off.

    Attributes:
        fsyncs: how many flushes were asked of the device so far.
    """

    def __init__(self, fsync: bool = True) -> None:
        self._flushes = fsync
        self._counting = threading.Lock()
        self.fsyncs = 0

    def read(self, place: Path) -> bytes:
        """The bytes of a file.

        Raises:
            NotFound: nothing stands there.
            StorageFailed: it cannot be read.
        """
        with told(place, "reading"):
            return place.read_bytes()

    def digest(self, place: Path) -> str:
        """The SHA-256 of a file in hex, as `content_hash`; the file need not fit into the memory.

        Raises:
            NotFound: nothing stands there.
            StorageFailed: it cannot be read.
        """
        hashed = hashlib.sha256()
        with told(place, "reading"), place.open("rb", buffering=0) as file:
            while piece := file.read(_PIECE_BYTES):
                hashed.update(piece)
        return hashed.hexdigest()

    @contextlib.contextmanager
    def reading(self, place: Path) -> Iterator[BinaryIO]:
        """A file open for reading, for those who need a part of it.

        Raises:
            NotFound: nothing stands there.
            StorageFailed: it cannot be read.
        """
        with told(place, "reading"), place.open("rb") as file:
            yield file

    def replace(self, place: Path, data: bytes, *, mode: int | None = None) -> None:
        """Put `data` at `place`, durably and all at once; folders are made on the way.

        Args:
            mode: permission bits; ``None`` keeps those of the file that stands there.

        Raises:
            StorageFailed: the disk refused; what stood there before still stands there.
        """
        temporary = self.stage(place, data, mode=mode)
        with self._set_aside(place) as restore:
            try:
                self.publish(temporary, place)
            except StorageFailed:
                restore()
                raise

    def stage(self, place: Path, data: bytes, *, mode: int | None = None) -> Path:
        """Write and flush a hidden neighbour of `place`, ready for `publish`.

        Raises:
            StorageFailed: the disk refused; the neighbour is gone again.
        """
        temporary = _neighbour(place)
        try:
            with told(place, "writing"):
                place.parent.mkdir(parents=True, exist_ok=True)
                self._write_new(temporary, data, _mode_of(place) if mode is None else mode)
        except StorageFailed:
            self.discard(temporary)
            raise
        return temporary

    def publish(self, temporary: Path, place: Path, *, flush: bool = True) -> None:
        """Let a staged file take its place; with `flush` its folder is flushed as well.

        Raises:
            StorageFailed: the disk refused; the staged file is gone.
        """
        with told(place, "replacing"):
            try:
                self._replace(temporary, place)
            except OSError:
                self.discard(temporary)
                raise
        if flush:
            self.flush_folders([place.parent])

    def discard(self, temporary: Path) -> None:
        """Drop a staged file; a failure is ignored, the next start sweeps it away."""
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)

    def append(self, place: Path, data: bytes) -> None:
        """Add whole lines to a log in one write and one flush; the folder too on creation.

        A line that a crash left without its end gets one first, so it never joins the next.

        Raises:
            StorageFailed: the disk refused; the log is as long as before.
        """
        with told(place, "appending"):
            try:
                self._append_to(place, data)
                return
            except FileNotFoundError:
                place.parent.mkdir(parents=True, exist_ok=True)
            self._append_to(place, data, os.O_CREAT)
        self.flush_folders([place.parent])

    def make_folder(self, place: Path) -> None:
        """Make a folder and those above it; nothing happens when it is there.

        Raises:
            StorageFailed: the disk refused.
        """
        with told(place, "making the folder"):
            place.mkdir(parents=True, exist_ok=True)

    def link_or_copy(self, src: Path, dst: Path) -> None:
        """Give a file a second name; a flushed copy where the disk knows no hard links.

        Does nothing when `dst` is already there.

        Raises:
            NotFound: `src` does not exist.
            StorageFailed: neither a link nor a copy could be made.
        """
        with told(src, "linking"):
            dst.parent.mkdir(parents=True, exist_ok=True)
            try:
                self._link(src, dst)
            except FileExistsError:
                return
            except FileNotFoundError:
                raise
            except OSError:
                data, mode = src.read_bytes(), stat.S_IMODE(src.stat().st_mode)
                self.publish(self.stage(dst, data, mode=mode), dst, flush=False)

    def rename(self, src: Path, dst: Path, *, flush: bool = True) -> None:
        """Move a file or folder, replacing a file at `dst`; folders are made on the way.

        Raises:
            NotFound: `src` does not exist.
            StorageFailed: the disk refused.
        """
        with told(src, "moving"):
            dst.parent.mkdir(parents=True, exist_ok=True)
            self._replace(src, dst)
        if flush:
            self.flush_folders([src.parent, dst.parent])

    def remove(self, place: Path, *, flush: bool = True) -> None:
        """Remove a file.

        Raises:
            NotFound: nothing stands there.
            StorageFailed: the disk refused.
        """
        with told(place, "removing"):
            place.unlink()
        if flush:
            self.flush_folders([place.parent])

    def flush_folders(self, folders: Iterable[Path]) -> None:
        """Make the names in these folders durable, each folder once; missing ones are skipped.

        Raises:
            StorageFailed: a folder could not be flushed.
        """
        if os.name == "nt" or not self._flushes:  # Windows opens no folders; NTFS journals names
            return
        for folder in dict.fromkeys(folders):
            with contextlib.suppress(NotFound), told(folder, "flushing"):
                descriptor = self._open(folder, os.O_RDONLY)
                try:
                    self._flush(descriptor)
                finally:
                    os.close(descriptor)

    @contextlib.contextmanager
    def _set_aside(self, place: Path) -> Iterator[_Restore]:
        """Keep a second name of the old file until the new one is known to be durable."""
        spare = _neighbour(place)
        try:
            os.link(place, spare)
        except OSError:  # a new file, or no hard links: `os.replace` alone is atomic
            yield _Restore(None, place)
            return
        try:
            yield _Restore(spare, place)
        finally:
            self.discard(spare)

    def _write_new(self, temporary: Path, data: bytes, mode: int | None) -> None:
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
        descriptor = self._open(temporary, flags, _NEW_FILE_MODE)
        try:
            self._write_all(descriptor, data)
            if mode is not None:
                temporary.chmod(mode)
            self._flush(descriptor)
        finally:
            os.close(descriptor)

    def _append_to(self, place: Path, data: bytes, creating: int = 0) -> None:
        flags = creating | os.O_APPEND | os.O_RDWR | getattr(os, "O_BINARY", 0)
        descriptor = self._open(place, flags, _NEW_FILE_MODE)
        try:
            length = os.fstat(descriptor).st_size
            torn = length > 0 and _last_byte(descriptor, length) != b"\n"
            try:
                self._write_all(descriptor, b"\n" + data if torn else data)
                self._flush(descriptor, contents_only=True)
            except OSError:
                with contextlib.suppress(OSError):
                    os.ftruncate(descriptor, length)
                raise
        finally:
            os.close(descriptor)

    def _write_all(self, descriptor: int, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[self._write(descriptor, rest) :]

    def _flush(self, descriptor: int, *, contents_only: bool = False) -> None:
        if not self._flushes:
            return
        with self._counting:
            self.fsyncs += 1
        self._fsync(descriptor, contents_only=contents_only)

    # The system calls that matter, one method each, so that a test can make any of them fail.

    def _open(self, place: Path, flags: int, mode: int = _NEW_FILE_MODE) -> int:
        return os.open(place, flags, mode)

    def _write(self, descriptor: int, data: memoryview) -> int:
        return os.write(descriptor, data)

    def _fsync(self, descriptor: int, *, contents_only: bool) -> None:
        flush = getattr(os, "fdatasync", os.fsync) if contents_only else os.fsync
        flush(descriptor)

    def _replace(self, src: Path, dst: Path) -> None:
        os.replace(src, dst)

    def _link(self, src: Path, dst: Path) -> None:
        os.link(src, dst)


class _Restore:
    """Puts the file that was set aside back in its place."""

    def __init__(self, spare: Path | None, place: Path) -> None:
        self._spare = spare
        self._place = place

    def __call__(self) -> None:
        with contextlib.suppress(OSError):
            if self._spare is not None:
                os.replace(self._spare, self._place)


def _neighbour(place: Path) -> Path:
    return place.with_name(f".{_stem(place.name)}.{secrets.token_hex(8)}.tmp")


def _stem(name: str) -> str:
    """As much of a file's name as its unfinished version can carry; a cut character is marked."""
    return name.encode("utf-8", "surrogatepass")[:_LONGEST_STEM].decode("utf-8", "replace")


def _mode_of(place: Path) -> int | None:
    try:
        return stat.S_IMODE(place.stat().st_mode)
    except FileNotFoundError:
        return None


def _last_byte(descriptor: int, length: int) -> bytes:
    os.lseek(descriptor, length - 1, os.SEEK_SET)
    return os.read(descriptor, 1)


@contextlib.contextmanager
def told(place: Path, doing: str) -> Iterator[None]:
    """Turn what the operating system says into this library's errors."""
    try:
        yield
    except FileNotFoundError as error:
        raise NotFound(str(place), "no such file", "Check the path.") from error
    except MemoryError as error:
        reason = f"{doing} failed: it does not fit into the memory"
        raise StorageFailed(str(place), reason, "Keep it elsewhere, or split it.") from error
    except OSError as error:
        reason = f"{doing} failed: {error.strerror or error}"
        raise StorageFailed(str(place), reason, _WAY_OUT) from error
