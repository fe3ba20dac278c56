"""A memory opens once, closes once, says when it is used wrongly, and leaves nothing running."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path

import pytest

from agentscope_reme import ReMe, Settings
from agentscope_reme.errors import BadInput, Closed, StorageFailed

QUIET = Settings(watch=False, fsync=False)


async def test_start_and_close_can_be_called_again(open_memory: Callable[..., ReMe]) -> None:
    reme = open_memory()
    await asyncio.gather(reme.start(), reme.start())
    await reme.start()
    await asyncio.gather(reme.close(), reme.close())
    await reme.close()


async def test_a_closed_memory_refuses_calls_until_it_is_started_again(
    open_memory: Callable[..., ReMe],
) -> None:
    reme = open_memory()
    await reme.write("digest/wiki/a.md", "heron")
    await reme.close()
    for call in (reme.search("heron"), reme.read("digest/wiki/a.md"), reme.status()):
        with pytest.raises(Closed, match="the memory was closed"):
            await call
    await reme.start()
    assert (await reme.search("heron")).hits
    await reme.close()


def test_a_second_event_loop_is_refused_in_words(tmp_path: Path) -> None:
    reme = ReMe(tmp_path, settings=QUIET)
    loop = asyncio.new_event_loop()
    loop.run_until_complete(reme.start())
    with pytest.raises(BadInput, match="another event loop"):
        asyncio.run(reme.search("x"))
    loop.run_until_complete(reme.close())
    loop.close()


async def test_giving_up_the_wait_for_a_start_does_not_break_the_start(
    open_memory: Callable[..., ReMe],
) -> None:
    reme = open_memory()
    waiting = asyncio.create_task(reme.start())
    await asyncio.sleep(0)
    waiting.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await waiting
    await reme.write("digest/wiki/a.md", "heron")
    assert (await reme.search("heron")).hits
    await reme.close()


async def test_a_cancelled_close_still_closes(open_memory: Callable[..., ReMe]) -> None:
    reme = open_memory()
    await reme.start()
    closing = asyncio.create_task(reme.close())
    await asyncio.sleep(0)
    closing.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await closing
    await reme.close()
    async with open_memory() as again:
        assert (await again.status()).success


async def test_a_workspace_that_cannot_be_made_is_a_storage_error(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(StorageFailed, match="the workspace cannot be made"):
        await ReMe(tmp_path / "taken", settings=QUIET).start()


async def test_a_failed_start_can_be_tried_again(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    reme = ReMe(tmp_path / "taken", settings=QUIET)
    with pytest.raises(StorageFailed):
        await reme.start()
    (tmp_path / "taken").unlink()
    await reme.start()
    await reme.close()


async def test_nothing_is_left_running(tmp_path: Path) -> None:
    before = asyncio.all_tasks()
    async with ReMe(tmp_path, settings=Settings(fsync=False)) as reme:
        await reme.write("digest/wiki/a.md", "heron")
        await reme.record("s", [{"role": "user", "content": "hello"}])
    assert asyncio.all_tasks() == before


@pytest.mark.parametrize("language", ["fr", "EN", ""])
def test_an_unknown_language_is_refused(tmp_path: Path, language: str) -> None:
    with pytest.raises(BadInput, match="language"):
        ReMe(tmp_path, language=language)  # type: ignore[arg-type]
