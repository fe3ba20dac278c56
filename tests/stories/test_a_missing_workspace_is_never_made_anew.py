"""An unmounted drive leaves an empty folder, or none: the library puts nothing there."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentscope_reme import ReMe, Settings
from agentscope_reme.errors import StorageFailed

QUIET = Settings(fsync=False, watch=False)
TURN = [{"role": "user", "content": "I moved to Lisbon."}]


@pytest.mark.parametrize("mount_point_stays", [True, False])
async def test_every_call_says_so_until_it_is_back(tmp_path: Path, mount_point_stays: bool) -> None:
    root, elsewhere = tmp_path / "memory", tmp_path / "elsewhere"
    async with ReMe(root, settings=QUIET) as reme:
        await reme.write("digest/wiki/a.md", "alpha")
        root.rename(elsewhere)
        if mount_point_stays:
            root.mkdir()
        for call in (
            lambda: reme.write("digest/wiki/b.md", "bravo"),
            lambda: reme.record("s", TURN),
            lambda: reme.reindex(),
            lambda: reme.reindex("daily"),
            lambda: reme.search("alpha"),
            lambda: reme.status(),
            lambda: reme.read("digest/wiki/a.md"),
            lambda: reme.stat("digest/wiki/a.md"),
            lambda: reme.list(),
            lambda: reme.daily_list(),
            lambda: reme.history(),
            lambda: reme.proactive(),
            lambda: reme.auto_memory(),
        ):
            with pytest.raises(StorageFailed, match="missing"):
                await call()
        assert not root.exists() or list(root.iterdir()) == []
        if mount_point_stays:
            root.rmdir()
        elsewhere.rename(root)
        await reme.write("digest/wiki/b.md", "bravo")
        assert [hit.path for hit in (await reme.search("alpha")).hits] == ["digest/wiki/a.md"]


async def test_closing_leaves_nothing_behind(tmp_path: Path) -> None:
    root, elsewhere = tmp_path / "memory", tmp_path / "elsewhere"
    async with ReMe(root, settings=QUIET) as reme:
        await reme.write("digest/wiki/a.md", "alpha")
        root.rename(elsewhere)
    assert not root.exists()


async def test_opening_makes_it(tmp_path: Path) -> None:
    root = tmp_path / "new" / "memory"
    async with ReMe(root, settings=QUIET):
        assert (root / "daily").is_dir()
