"""Indexes session logs as they grow: a turn costs what the turn is long, not what the log is."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from typing import Final

from agentscope_reme.chunking.session_log import SessionLogCutter
from agentscope_reme.files.disk import Disk
from agentscope_reme.files.growing_file import Extension, GrowingFile
from agentscope_reme.schema import FileChunk, FileNode
from agentscope_reme.settings import Settings
from agentscope_reme.store.records import FileGrowth, FileStamp, IndexedFile

_FOLLOWED_LOGS: Final = 256
"""Logs that go on without being read anew; each keeps a 16-byte key per chunk."""


class _Followed:
    """A log that was cut up to some byte."""

    def __init__(self, path: str, disk: Disk, chunk_byte_size: int) -> None:
        self.file = GrowingFile(disk)
        self.cutter = SessionLogCutter(path, chunk_byte_size)

    @property
    def stamp(self) -> FileStamp:
        mtime_ns = self.file.mark.mtime_ns if self.file.mark is not None else 0
        return FileStamp(mtime_ns, self.file.size, self.file.content_hash)


class LogIndexer:
    """Cuts session logs and goes on where it stopped.

    What it gives is what `FileIndexer` gives for the whole file. Logs that are not plain UTF-8
    lines are left to that one. Not thread-safe: called under the commit lock.

    Args:
        settings: the chunk size.
        disk: how logs are read.
    """

    def __init__(self, settings: Settings, disk: Disk) -> None:
        self._settings: Final = settings
        self._disk: Final = disk
        self._followed: OrderedDict[str, _Followed] = OrderedDict()

    def follow(
        self, path: str, place: Path, written: Extension | None = None
    ) -> IndexedFile | FileGrowth | None:
        """What is new in a log, or all of it when it is met first or is no continuation.

        Args:
            path: its workspace path.
            place: where it stands.
            written: the append that is to be indexed, when it is known to be one.

        Returns:
            ``None`` for a log that has to be indexed as any other file.

        Raises:
            NotFound: there is no such file.
            StorageFailed: it cannot be read.
        """
        followed = self._followed.pop(path, None)
        growth = None if followed is None else self._grown(path, place, followed, written)
        if followed is not None and growth is not None:
            self._remember(path, followed)
            return growth
        followed = _Followed(path, self._disk, self._settings.chunk_byte_size)
        whole = self._whole(path, place, followed)
        if whole is not None:
            self._remember(path, followed)
        return whole

    def forget(self, path: str) -> None:
        """Read a log anew the next time: the index does not hold what was given last."""
        self._followed.pop(path, None)

    def _remember(self, path: str, followed: _Followed) -> None:
        self._followed[path] = followed
        if len(self._followed) > _FOLLOWED_LOGS:
            self._followed.popitem(last=False)

    def _grown(
        self, path: str, place: Path, followed: _Followed, written: Extension | None
    ) -> FileGrowth | None:
        base, first_line = followed.stamp, followed.cutter.open_line
        data = followed.file.unread(place, written)
        text = None if data is None else _plain_lines(data)
        if data is None or text is None or not followed.cutter.grow(text):
            return None
        followed.file.take(data)
        chunks = tuple(followed.cutter.take())
        return FileGrowth(path, base, followed.stamp, first_line, chunks)

    def _whole(self, path: str, place: Path, followed: _Followed) -> IndexedFile | None:
        data = followed.file.unread(place) or b""
        text = _plain_lines(data)
        if text is None or len(data) > self._settings.max_indexed_file_bytes:
            return None
        followed.file.take(data)
        followed.cutter.begin(text)
        chunks = tuple(followed.cutter.take())
        return IndexedFile(_node(path, followed.stamp, chunks), chunks)


def _node(path: str, stamp: FileStamp, chunks: tuple[FileChunk, ...]) -> FileNode:
    return FileNode(
        path=path,
        st_mtime_ns=stamp.mtime_ns,
        size=stamp.size,
        content_hash=stamp.content_hash,
        chunk_ids=tuple(chunk.id for chunk in chunks),
    )


def _plain_lines(data: bytes) -> str | None:
    """The text of whole UTF-8 lines; ``None`` when what follows could change how it is read."""
    if b"\0" in data or not (data.endswith(b"\n") or not data):
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None
