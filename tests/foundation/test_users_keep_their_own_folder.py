"""Two users are two folders, on disks that do not tell ``Bob`` from ``bob`` as well."""

from __future__ import annotations

from pathlib import Path

from agentscope_reme.workspace import Workspace


def folder(root: Path, user: str) -> str:
    workspace = Workspace(root, user=user)
    workspace.create()
    return workspace.root.name


def test_names_that_differ_by_case_share_no_folder(tmp_path: Path) -> None:
    names = [folder(tmp_path, user) for user in ("Bob", "bob", "BOB")]
    assert names[0] == "Bob"
    assert len({name.casefold() for name in names}) == 3


def test_a_folder_stays_the_one_it_was(tmp_path: Path) -> None:
    first = [folder(tmp_path, user) for user in ("Bob", "bob")]
    assert [folder(tmp_path, user) for user in ("Bob", "bob")] == first
    Workspace(tmp_path, user="Bob").root.rename(tmp_path / "gone")
    assert Workspace(tmp_path, user="bob").root.name == first[1]


def test_folders_that_stand_side_by_side_already_are_kept(tmp_path: Path) -> None:
    for name in ("Bob", "bob"):
        (tmp_path / "users" / name).mkdir(parents=True)
    assert [folder(tmp_path, user) for user in ("Bob", "bob")] == ["Bob", "bob"]
