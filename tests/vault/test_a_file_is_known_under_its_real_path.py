"""Symlinks: followed by whoever names them, passed over by whoever looks around."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agentscope_reme import ReMe, Settings
from agentscope_reme.errors import BadPath
from agentscope_reme.files.changes import Write
from tests.vault.conftest import House


def write(house: House, path: str, text: str) -> dict[str, str | None]:
    change = Write(path, text.encode())
    return house.vault.commit([change], actor="user", operation="write").hashes


def indexed(house: House) -> list[str]:
    return sorted(house.store.stamps())


@pytest.fixture
def linked(house: House) -> House:
    """``digest/alias`` is ``digest/real``, ``digest/l.md`` is ``digest/real/a.md``."""
    write(house, "digest/real/a.md", "zebra")
    (house.root / "digest/alias").symlink_to("real")
    (house.root / "digest/l.md").symlink_to("real/a.md")
    return house


@pytest.mark.parametrize("spelling", ["digest/alias/a.md", "digest/l.md"])
def test_a_write_through_a_link_is_one_to_the_real_file(linked: House, spelling: str) -> None:
    assert linked.vault.read(spelling) == b"zebra"
    assert list(write(linked, spelling, "yak")) == ["digest/real/a.md"]
    assert indexed(linked) == ["digest/real/a.md"]
    assert linked.text("digest/real/a.md") == "yak"
    assert (linked.root / "digest/l.md").is_symlink()
    assert linked.vault.history(spelling)[0].paths == ["digest/real/a.md"]


def test_a_scan_passes_links_over(linked: House) -> None:
    result = linked.vault.scan(full=True)
    assert result.failed == []
    assert linked.vault.paths() == ["digest/real/a.md"]
    assert indexed(linked) == ["digest/real/a.md"]
    assert linked.vault.paths("digest/alias") == ["digest/real/a.md"]


@pytest.mark.parametrize("told", ["digest/alias/a.md", "digest/alias", "digest/l.md"])
def test_an_edit_told_under_the_name_of_a_link_is_noticed(linked: House, told: str) -> None:
    linked.put("digest/real/a.md", "an edit of another program")
    linked.vault.apply_foreign([told])
    assert indexed(linked) == ["digest/real/a.md"]
    stamp = linked.store.stamps()["digest/real/a.md"]
    assert stamp.size == len("an edit of another program")


@pytest.mark.parametrize("by_scan", [True, False])
def test_a_file_that_became_a_link_leaves_the_index(house: House, by_scan: bool) -> None:
    write(house, "digest/a.md", "zebra")
    house.put("users/bob/digest/s.md", "secret")
    (house.root / "digest/a.md").unlink()
    (house.root / "digest/a.md").symlink_to("../users/bob/digest/s.md")
    result = house.vault.scan() if by_scan else house.vault.apply_foreign(["digest/a.md"])
    assert result.removed == 1
    assert indexed(house) == []


@pytest.mark.parametrize(
    "target", ["users/bob/digest/s.md", "journal/dirty.jsonl", "metadata/x.md", ".git/config"]
)
@pytest.mark.parametrize("folder", [False, True])
def test_a_link_into_a_folder_of_the_library_is_refused(
    house: House, target: str, folder: bool
) -> None:
    house.put(target, "secret")
    place = house.root / "digest/link"
    place.symlink_to(house.root / (Path(target).parent if folder else target))
    path = f"digest/link/{Path(target).name}" if folder else "digest/link"
    for refused in (
        lambda: house.vault.read(path),
        lambda: house.vault.exists(path),
        lambda: write(house, path, "lie"),
        lambda: house.vault.delete(path, actor="user"),
        lambda: house.vault.move(path, "digest/stolen.md", actor="user"),
        lambda: house.workspace.locate(path),
    ):
        with pytest.raises(BadPath):
            refused()
    assert house.text(target) == "secret"
    house.vault.scan(full=True)
    house.vault.apply_foreign([path, "digest/link"])
    assert indexed(house) == []


def test_a_link_itself_is_left_to_its_owner(linked: House) -> None:
    for path in ("digest/alias", "digest/l.md"):
        with pytest.raises(BadPath, match="symlink"):
            linked.vault.delete(path, actor="user")
        with pytest.raises(BadPath, match="symlink"):
            linked.vault.move(path, "digest/x", actor="user")
    with pytest.raises(BadPath, match="symlink"):
        linked.vault.move("digest/real/a.md", "digest/l.md", overwrite=True, actor="user")
    assert linked.text("digest/real/a.md") == "zebra"
    linked.vault.move("digest/alias/a.md", "digest/b.md", actor="user")
    assert linked.text("digest/b.md") == "zebra"


async def test_no_search_answers_with_the_files_of_a_user(tmp_path: Path) -> None:
    settings = Settings(watch=False)
    async with ReMe(tmp_path, user="bob", settings=settings) as bob:
        await bob.write("digest/wiki/s.md", "bob secret durian")
    async with ReMe(tmp_path, settings=settings) as root:
        folder = tmp_path / "digest"
        (folder / "l.md").symlink_to("../users/bob/digest/wiki/s.md")
        (folder / "ld").symlink_to("../users/bob/digest")
        (folder / "journal.md").symlink_to("../journal")
        await root.reindex()
        await asyncio.to_thread(root._engine.components.vault.apply_foreign, ["digest"])
        assert (await root.search("durian secret")).hits == []
        assert "l.md" not in (await root.list(recursive=True)).answer
