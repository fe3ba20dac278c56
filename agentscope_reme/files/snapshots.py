"""Where an export keeps second names of files, and how those of a dead one are taken away.

A link keeps what a file said, so one that outlives its export would keep what is forgotten
later. Every export holds a claim while it runs; whoever gets that claim knows that all snapshots
lying there are left over.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from agentscope_reme.files.locks import WorkspaceLocks
from agentscope_reme.workspace import Workspace

_FOLDER: Final = "export-"
_CLAIM: Final = "export"


@contextmanager
def snapshot_folder(workspace: Workspace, locks: WorkspaceLocks) -> Iterator[Path]:
    """A folder for the links of one export; waits for another export of the same memory.

    Raises:
        StorageFailed: the workspace cannot be locked.
        OSError: the folder cannot be made.
    """
    with locks.claim(_CLAIM, blocking=True):
        _remove_all(workspace)
        folder = workspace.metadata / f"{_FOLDER}{secrets.token_hex(8)}"
        folder.mkdir(parents=True)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def sweep_snapshots(workspace: Workspace, locks: WorkspaceLocks) -> None:
    """Remove what exports left that died; nothing happens while one is running.

    Raises:
        StorageFailed: the workspace cannot be locked.
    """
    if not _left_over(workspace):
        return
    with locks.claim(_CLAIM) as nobody_exports:
        if nobody_exports:
            _remove_all(workspace)


def _left_over(workspace: Workspace) -> list[Path]:
    return list(workspace.metadata.glob(f"{_FOLDER}*"))


def _remove_all(workspace: Workspace) -> None:
    for folder in _left_over(workspace):
        shutil.rmtree(folder, ignore_errors=True)
