"""A turn is acknowledged once it is durable; whoever looks for it right after finds it."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock

from agentscope_reme import ReMe, Settings
from agentscope_reme.steps import BaseStep, Ref
from agentscope_reme.store.local_store import LocalFileStore
from agentscope_reme.testing import ScriptedChatModel
from agentscope_reme.view.page_file import page_of

PATIENT = Settings(
    watch=False,
    fsync=False,
    lock_patience_seconds=60,
    record_patience_seconds=60,
    recall_deadline_ms=100,
)

HASTY = PATIENT.model_copy(update={"lock_patience_seconds": 0, "record_patience_seconds": 0})


def turn(word: str) -> dict[str, str]:
    return {"role": "user", "content": f"The heron of {word} nests in May.", "id": word}


@contextmanager
def commit_lock(reme: ReMe) -> Iterator[None]:
    """The lock that a change of the index needs, as another process holds it."""
    with FileLock(Path(reme.workspace.locks, "commit.lock")):
        yield


class HowManyFiles(BaseStep[int]):
    """A step of a user's own that reads the index."""

    store = Ref(lambda parts: parts.store)

    async def execute(self) -> int:
        return self.store.stats().files


async def test_every_turn_is_found_by_the_next_call(open_memory: Callable[..., ReMe]) -> None:
    async with open_memory() as reme:
        for number in range(30):
            word = f"w{number}x"
            await reme.record(f"session-{number % 3}", [turn(word)])
            how = number % 3
            if how == 0:
                assert word in (await reme.search(word)).hits[0].text
            elif how == 1:
                assert word in (await reme.recall(word)).answer
            else:
                assert (await reme.status()).files == 3
        assert (await reme.status()).dirty == []


async def test_turns_of_many_sessions_at_once_are_found(open_memory: Callable[..., ReMe]) -> None:
    async with open_memory() as reme:

        async def talk(session: str) -> None:
            for number in range(8):
                word = f"{session}n{number}"
                await reme.record(session, [turn(word)])
                assert word in (await reme.search(word)).hits[0].text

        await asyncio.gather(*(talk(f"s{number}") for number in range(6)))
        assert (await reme.doctor()).success


async def test_a_step_of_ones_own_sees_what_was_recorded(open_memory: Callable[..., ReMe]) -> None:
    async with open_memory() as reme:
        await reme.record("s", [turn("own")])
        assert await HowManyFiles()(reme.application) == 1


async def test_a_reply_does_not_wait_for_the_index(open_memory: Callable[..., ReMe]) -> None:
    async with open_memory(settings=PATIENT) as reme:
        await reme.record("s", [turn("first")])
        assert (await reme.search("heron")).notice == ""
        with commit_lock(reme):  # the calls below end while another process keeps it
            await reme.record("s", [turn("second")])
            await reme.record("s", [turn("third")])
            await reme.record("s", [turn("fourth")])
            recalled = await reme.recall("heron")
            assert [hit.text.count("heron") for hit in recalled.hits] == [1]
            assert "first" in recalled.answer
            assert "still being" in recalled.notice
        found = await reme.search("heron")
        assert all(word in found.hits[0].text for word in ("first", "second", "third", "fourth"))
        assert found.notice == ""
        assert (await reme.status()).failures == {}


async def test_a_turn_that_a_lock_kept_out_is_found_once_the_lock_is_free(
    open_memory: Callable[..., ReMe],
) -> None:
    async with open_memory(settings=HASTY) as reme:
        await reme.record("s", [turn("first")])
        await reme.search("heron")
        with commit_lock(reme):
            await reme.record("other", [turn("second")])
            missed = await reme.search("second")
            assert missed.hits == []
            assert "still being" in missed.notice
            assert (await reme.status()).dirty == ["session/dialog/other.jsonl"]
        found = await reme.search("second")
        assert [hit.path for hit in found.hits] == ["session/dialog/other.jsonl"]
        assert found.notice == ""
        status = await reme.status()
        assert (status.dirty, status.failures) == ([], {})


async def test_who_waits_for_the_background_waits_no_longer_than_asked(
    open_memory: Callable[..., ReMe],
) -> None:
    async with open_memory(settings=PATIENT) as reme:
        with commit_lock(reme):
            await reme.record("s", [turn("first")])
            async with asyncio.timeout(20):
                assert not await reme.drain(0)
        assert await reme.drain()


async def test_what_leaves_a_window_is_kept_before_the_index_follows(
    open_memory: Callable[..., ReMe],
) -> None:
    async with open_memory(settings=PATIENT) as reme:
        with commit_lock(reme):
            await reme.record("s", [turn("first")])
            async with asyncio.timeout(20):
                path = await reme.archive("s", [turn("second")])
        found = await reme.search("second")
        assert [hit.path for hit in found.hits] == [path]


async def test_a_tool_of_the_agent_sees_what_was_recorded(
    open_memory: Callable[..., ReMe],
) -> None:
    async with open_memory(settings=PATIENT) as reme:
        [stat] = reme.tools(include=["stat"])
        with commit_lock(reme):
            await reme.record("s", [turn("first")])
            looking = asyncio.create_task(stat.call({"path": "session/dialog/s.jsonl"}))
            await asyncio.wait({looking}, timeout=0.2)
        assert "indexed: yes" in (await looking).text


class Threads(ThreadPoolExecutor):
    """Tells when a piece of work has begun."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = asyncio.Event()

    def submit(self, work: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        loop = asyncio.get_running_loop()

        def begin() -> Any:
            loop.call_soon_threadsafe(self.begun.set)
            return work(*args, **kwargs)

        return super().submit(begin)


async def test_a_recording_that_is_given_up_is_indexed_all_the_same(
    open_memory: Callable[..., ReMe],
) -> None:
    async with open_memory(settings=PATIENT) as reme:
        loop, threads = asyncio.get_running_loop(), Threads()
        loop.set_default_executor(threads)
        with FileLock(Path(reme.workspace.locks, "session-s.lock")):
            recording = asyncio.create_task(reme.record("s", [turn("given")]))
            await threads.begun.wait()  # it cannot be called off any more
            recording.cancel()
            await asyncio.wait({recording})
            assert recording.cancelled()
        threads.shutdown()
        loop.set_default_executor(ThreadPoolExecutor())
        await asyncio.sleep(0)
        assert "given" in (await reme.search("given")).hits[0].text


async def test_a_turn_that_is_recorded_while_the_memory_closes_is_acknowledged(
    open_memory: Callable[..., ReMe],
) -> None:
    reme = open_memory(ScriptedChatModel([]), settings=PATIENT)
    await reme.start()
    threads = Threads()
    with FileLock(Path(reme.workspace.locks, "session-s.lock")):
        asyncio.get_running_loop().set_default_executor(threads)
        recording = asyncio.create_task(reme.record("s", [turn("late")]))
        await threads.begun.wait()
        await reme.close()
    assert (await recording).appended == 1
    async with open_memory() as again:
        assert "late" in (await again.search("late")).hits[0].text
        assert (await again.status()).pending_sessions == ["s"]


async def test_closing_waits_for_the_index(open_memory: Callable[..., ReMe]) -> None:
    reme = open_memory()
    await reme.record("s", [turn("last")])
    await reme.close()
    store = LocalFileStore(reme.workspace, settings=PATIENT)
    store.open()
    assert len(store.keyword_search("last", limit=5)) == 1
    store.close()


_RECORDS = """
import asyncio, sys
from agentscope_reme import ReMe, Settings

async def main():
    settings = Settings(watch=False, record_patience_seconds=60)
    async with ReMe(sys.argv[1], settings=settings) as reme:
        print("open", flush=True)
        sys.stdin.readline()
        await reme.record("s", [{"role": "user", "content": "The heron of now.", "id": "1"}])
        print("acknowledged", flush=True)
        await asyncio.sleep(60)

asyncio.run(main())
"""


def test_a_kill_before_the_index_followed_loses_no_turn(open_memory: Callable[..., ReMe]) -> None:
    reme = open_memory()
    root = reme.workspace.root
    child = subprocess.Popen(
        [sys.executable, "-c", _RECORDS, str(root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    with child:
        try:
            assert child.stdout.readline() == "open\n"
            with commit_lock(reme):
                child.stdin.write("\n")
                child.stdin.flush()
                assert child.stdout.readline() == "acknowledged\n"
                child.send_signal(signal.SIGKILL)
                child.wait()
        finally:
            child.kill()
    assert b"The heron of now." in (root / "session/dialog/s.jsonl").read_bytes()

    async def found() -> str:
        async with reme:
            return (await reme.search("now")).hits[0].text

    assert "The heron of now." in asyncio.run(found())


async def test_the_page_of_a_memory_shows_what_was_just_said(
    open_memory: Callable[..., ReMe],
) -> None:
    async with open_memory(settings=PATIENT) as reme:
        with commit_lock(reme):
            await reme.record("s", [turn("page")])
            page = asyncio.create_task(page_of(reme))
            done, _ = await asyncio.wait({page}, timeout=0.5)
            assert not done
        assert (await page)[1] == 1


async def test_calls_that_are_no_searches_wait_for_the_index_too(
    open_memory: Callable[..., ReMe],
) -> None:
    async with open_memory(settings=PATIENT) as reme:
        with commit_lock(reme):
            await reme.record("s", [turn("status")])
            calls = {asyncio.create_task(reme.status()), asyncio.create_task(reme.list_tags())}
            done, _ = await asyncio.wait(calls, timeout=0.5)
            assert not done
        await asyncio.wait(calls)
        assert (await reme.status()).files == 1
