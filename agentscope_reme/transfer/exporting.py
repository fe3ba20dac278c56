"""Takes a whole memory along: its files as they stand at one moment, in one archive."""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
from pathlib import Path
from typing import Final

from agentscope_reme.errors import BadInput, StorageFailed
from agentscope_reme.files.snapshots import snapshot_folder
from agentscope_reme.reme import ReMe
from agentscope_reme.results import Result
from agentscope_reme.steps import BaseStep, Ref
from agentscope_reme.transfer.archive import MANIFEST, NEVER_PACKED, Reading, write_archive
from agentscope_reme.workspace import Workspace, absolute

_LEFT_OUT: Final = NEVER_PACKED | {MANIFEST}
"""An archive has its own list of files; one that was unpacked by hand is none of the memory."""
_HISTORY: Final = frozenset({"journal", "trash"})
_WORKING_STATE: Final = ("journal/checkpoints", "journal/summaries")
"""What dreams and summaries are at stands in the journal's folder, and is truth, not history."""
_ENDING: Final = ".zip"

Stamp = tuple[int, int, int]
"""Inode, time of change in nanoseconds, and size."""


class ExportResult(Result):
    """What was taken along.

    Attributes:
        path: the archive.
        files: how many files are in it.
        bytes: how large they are together.
    """

    path: str = ""
    files: int = 0
    bytes: int = 0


async def export_memory(
    reme: ReMe, to: str | os.PathLike[str], *, history: bool = False, overwrite: bool = False
) -> ExportResult:
    """Pack the memory into one ZIP archive.

    Everything is as it stood at one moment; writers wait for some milliseconds. The memories of
    users below this one are not part of it.

    Args:
        reme: the memory.
        to: the archive, outside the workspace; ``.zip`` is added.
        history: take journal and trash along, and with them what was deleted.
        overwrite: replace an archive of that name.

    Raises:
        BadInput: the archive would stand in the workspace, or something stands there.
        StorageFailed: the disk refused; there is no archive.
    """
    await reme.start()
    if not os.fspath(to):
        raise BadInput(to, "the archive has no name", "Name a file outside the memory.")
    target = absolute(to)
    if target.suffix.lower() != _ENDING:
        target = target.with_name(target.name + _ENDING)
    _refuse_place(target, reme.workspace, overwrite=overwrite)
    return await _ExportStep()(reme.application, target=target, history=history)


class _ExportStep(BaseStep[ExportResult]):
    workspace = Ref(lambda parts: parts.workspace)
    locks = Ref(lambda parts: parts.locks)
    clock = Ref(lambda parts: parts.clock)

    async def execute(self) -> ExportResult:
        """Write the archive.

        Raises:
            StorageFailed: the disk refused; there is no archive.
        """
        values = self.context.values
        return await asyncio.to_thread(self._export, values["target"], values["history"])

    def _export(self, target: Path, history: bool) -> ExportResult:
        try:
            with snapshot_folder(self.workspace, self.locks) as folder:
                snapshot = _Snapshot(self.workspace, folder, history=history)
                snapshot.catch_up()
                with self.locks.commit():
                    snapshot.catch_up()  # only what changed meanwhile: nobody waits for long
                    created = self.clock.now().isoformat(timespec="seconds")
                manifest = write_archive(snapshot.files(), target, created)
        except OSError as error:
            raise StorageFailed(
                str(target),
                f"the memory cannot be copied: {error.strerror or error}",
                "Free space, try again.",
            ) from error
        size = sum(entry.size for entry in manifest.files.values())
        count = len(manifest.files)
        told = f"{count} file(s), {size:,} bytes, as of {created}: {target}."
        return ExportResult(answer=told, path=str(target), files=count, bytes=size)


class _Snapshot:
    """The files of a workspace at one moment, as links to them in a folder of derived data.

    Documents are replaced, never written into, so a link keeps the old version. Logs grow behind
    what they said at that moment.
    """

    def __init__(self, workspace: Workspace, folder: Path, *, history: bool) -> None:
        self._root = workspace.root
        self._folder = folder
        self._left_out = _LEFT_OUT if history else _LEFT_OUT | _HISTORY
        self._also = () if history else _WORKING_STATE
        self._kept: dict[str, tuple[Stamp, Path]] = {}

    def catch_up(self) -> None:
        """Link what is new or other than before, and drop what is gone."""
        seen = self._look()
        for path in set(self._kept) - set(seen):
            self._kept.pop(path)[1].unlink()
        for path, stamp in seen.items():
            before = self._kept.get(path)
            if before is None or before[0] != stamp:
                self._keep(path, stamp)

    def files(self) -> dict[str, Reading]:
        """Where each file of the snapshot can be read, and how many bytes it had."""
        return {path: (place, stamp[2]) for path, (stamp, place) in self._kept.items()}

    def _keep(self, path: str, stamp: Stamp) -> None:
        place = self._folder / f"{len(self._kept)}-{secrets.token_hex(4)}"
        try:
            os.link(self._root / path, place)
        except FileNotFoundError:
            return  # gone since the look; the next one, under the lock, decides
        except OSError:  # no links on this file system
            shutil.copyfile(self._root / path, place)
        old = self._kept.get(path)
        if old is not None:
            old[1].unlink()
        self._kept[path] = (stamp, place)

    def _look(self) -> dict[str, Stamp]:
        found: dict[str, Stamp] = {}
        with os.scandir(self._root) as entries:
            tops = [e.name for e in entries if e.name not in self._left_out]
        for top in (*tops, *self._also):
            self._look_below(self._root / top, found)
        return found

    def _look_below(self, place: Path, found: dict[str, Stamp]) -> None:
        if place.is_symlink() or place.name.startswith("."):
            return
        if place.is_dir():
            for below in place.iterdir():
                self._look_below(below, found)
        elif place.is_file():
            state = place.stat()
            path = place.relative_to(self._root).as_posix()
            found[path] = (state.st_ino, state.st_mtime_ns, state.st_size)


def _refuse_place(target: Path, workspace: Workspace, *, overwrite: bool) -> None:
    if target.is_relative_to(workspace.root):
        raise BadInput(
            str(target), "the archive would stand in the memory itself", "Choose a place outside."
        )
    if target.exists() and not overwrite:
        raise BadInput(
            str(target), "something stands there", "Choose another name, or pass overwrite=true."
        )
