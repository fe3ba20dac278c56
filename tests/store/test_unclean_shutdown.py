"""A process that died with the index open is noticed by the next one."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from agentscope_reme.settings import Settings
from agentscope_reme.store.local_store import LocalFileStore
from agentscope_reme.workspace import Workspace

CRASH = """
import os, sys
from agentscope_reme.settings import Settings
from agentscope_reme.store.local_store import LocalFileStore
from agentscope_reme.workspace import Workspace
store = LocalFileStore(Workspace(sys.argv[1]), settings=Settings())
store.open()
os._exit(0)
"""


def opened(workspace: Workspace) -> LocalFileStore:
    store = LocalFileStore(workspace, settings=Settings())
    store.open()
    return store


def crash(workspace: Workspace) -> None:
    subprocess.run([sys.executable, "-c", CRASH, str(workspace.root)], check=True)


def markers(workspace: Workspace) -> list[Path]:
    return [*workspace.metadata.glob("open-*"), *workspace.locks.glob("open-*")]


def test_a_clean_close_leaves_nothing(workspace: Workspace) -> None:
    store = opened(workspace)
    assert not store.condition().unchecked
    assert len(list(workspace.metadata.glob("open-*"))) == 1
    store.close()
    assert markers(workspace) == []
    store.open()
    assert not store.condition().unchecked
    store.close()


def test_a_crash_is_remembered_until_the_files_were_compared(workspace: Workspace) -> None:
    crash(workspace)
    store = opened(workspace)
    assert store.condition().unchecked
    store.close()
    store.open()
    assert store.condition().unchecked, "it was closed before anybody looked"
    store.settle(store.condition())
    assert not store.condition().unchecked
    store.close()
    assert markers(workspace) == []


def test_somebody_who_is_still_at_work_has_not_crashed(workspace: Workspace) -> None:
    one, two = opened(workspace), opened(workspace)
    assert not two.condition().unchecked
    one.close()
    three = opened(workspace)
    assert not three.condition().unchecked
    two.close()
    three.close()
    assert markers(workspace) == []


def test_a_crash_beside_a_living_process_is_noticed(workspace: Workspace) -> None:
    one = opened(workspace)
    crash(workspace)
    two = opened(workspace)
    assert two.condition().unchecked
    two.settle(two.condition())
    one.close()
    two.close()
    assert markers(workspace) == []


def test_a_folder_copied_while_it_was_open_is_checked(workspace: Workspace, tmp_path: Path) -> None:
    store = opened(workspace)
    copy = Workspace(tmp_path / "copy")
    shutil.copytree(workspace.metadata, copy.metadata)
    other = opened(copy)
    assert other.condition().unchecked
    other.close()
    store.close()


def test_metadata_removed_while_open_does_not_hinder_the_close(workspace: Workspace) -> None:
    store = opened(workspace)
    shutil.rmtree(workspace.metadata)
    store.close()
    assert markers(workspace) == []
