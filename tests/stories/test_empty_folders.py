"""A folder without files is a folder: it can be moved, deleted and brought back."""

from __future__ import annotations

from pathlib import Path

from agentscope_reme import ReMe, Settings

QUIET = Settings(fsync=False, watch=False)


async def test_it_is_deleted_and_comes_back(tmp_path: Path) -> None:
    async with ReMe(tmp_path, settings=QUIET) as reme:
        empty = tmp_path / "digest/empty"
        (empty / "inner").mkdir(parents=True)
        deleted = await reme.delete("digest/empty")
        assert deleted.answer.startswith("Deleted digest/empty/ with 0 files")
        assert not empty.exists()
        await reme.undo(deleted.change_id)
        assert (empty / "inner").is_dir()


async def test_it_moves_and_moves_back(tmp_path: Path) -> None:
    async with ReMe(tmp_path, settings=QUIET) as reme:
        (tmp_path / "digest/empty/inner").mkdir(parents=True)
        moved = await reme.move("digest/empty", "digest/other")
        assert (tmp_path / "digest/other/inner").is_dir()
        assert not (tmp_path / "digest/empty").exists()
        await reme.undo(moved.change_id)
        assert (tmp_path / "digest/empty/inner").is_dir()
        assert not (tmp_path / "digest/other").exists()
