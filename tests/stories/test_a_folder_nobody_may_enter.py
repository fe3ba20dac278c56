"""A folder this user must not enter costs its own files alone, and every call says so in words."""

from __future__ import annotations

import errno
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme import ReMe, Settings
from agentscope_reme.errors import StorageFailed

QUIET = Settings(fsync=False, watch=False)
HELLO = [{"role": "user", "content": "hello"}]


@pytest.fixture
def forbid(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """Make the system say nothing about what is in a folder, as ``chmod 644`` does."""

    def forbid(folder: Path) -> None:
        def refusing(look: Callable[..., os.stat_result]) -> Callable[..., os.stat_result]:
            def refused(place: Any, *args: Any, **options: Any) -> os.stat_result:
                if isinstance(place, str | Path) and folder in Path(place).parents:
                    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(place))
                return look(place, *args, **options)

            return refused

        for look in ("stat", "lstat"):
            monkeypatch.setattr(os, look, refusing(getattr(os, look)))

    return forbid


CALLS: dict[str, Callable[[ReMe], Awaitable[object]]] = {
    "read": lambda reme: reme.read("digest/wiki/a.md"),
    "stat": lambda reme: reme.stat("digest/wiki/a.md"),
    "write": lambda reme: reme.write("digest/wiki/a.md", "yak"),
    "write a new one": lambda reme: reme.write("digest/wiki/new.md", "yak"),
    "edit": lambda reme: reme.edit("digest/wiki/a.md", "zebra", "yak"),
    "frontmatter_read": lambda reme: reme.frontmatter_read("digest/wiki/a.md"),
    "move": lambda reme: reme.move("digest/wiki/a.md", "digest/b.md"),
    "move into it": lambda reme: reme.move("digest/ok.md", "digest/wiki/b.md"),
    "delete": lambda reme: reme.delete("digest/wiki/a.md"),
}


@pytest.mark.parametrize("call", CALLS)
async def test_its_files_are_refused_in_words(
    tmp_path: Path, forbid: Callable[[Path], None], call: str
) -> None:
    async with ReMe(tmp_path, settings=QUIET) as reme:
        await reme.write("digest/wiki/a.md", "zebra")
        await reme.write("digest/ok.md", "gnu")
        forbid(tmp_path / "digest/wiki")
        with pytest.raises(StorageFailed, match="Permission denied"):
            await CALLS[call](reme)
        assert [hit.path for hit in (await reme.search("gnu")).hits] == ["digest/ok.md"]
        assert (await reme.edit("digest/ok.md", "gnu", "yak")).success


async def test_logs_nobody_may_look_at_are_named(
    tmp_path: Path, forbid: Callable[[Path], None]
) -> None:
    async with ReMe(tmp_path, settings=QUIET) as reme:
        await reme.record("s", HELLO)
        forbid(tmp_path / "session/dialog")
        status = await reme.status()
        assert "Nobody can tell what waits to be distilled" in status.answer
        assert "session/dialog" in [found.item for found in (await reme.doctor()).differences]
        with pytest.raises(StorageFailed, match="Permission denied"):
            await reme.auto_memory()


async def test_others_edits_elsewhere_reach_the_index(
    tmp_path: Path, forbid: Callable[[Path], None]
) -> None:
    async with ReMe(tmp_path, settings=QUIET) as reme:
        await reme.write("digest/wiki/a.md", "zebra")
        (tmp_path / "digest/ok.md").write_text("gnu")
        forbid(tmp_path / "digest/wiki")
        found = reme._engine.components.vault.apply_foreign(["digest/wiki/a.md", "digest/ok.md"])
        assert [failure.item for failure in found.failed] == ["digest/wiki/a.md"]
        assert found.files == 1
        assert {hit.path for hit in (await reme.search("gnu zebra")).hits} == {
            "digest/ok.md",
            "digest/wiki/a.md",
        }
