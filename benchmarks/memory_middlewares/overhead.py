"""What our middleware itself costs a reply that has nothing to recall, as a distribution.

Every reply gets a new agent and a new middleware, as in an agent service. What is timed is the
middleware's own work: preparing, recalling in vain, recording. Time on the processor is counted
beside time on the clock, because other work on the machine lengthens only the second; time in
``fsync`` is the device's and is counted apart, and so is what the index takes behind the reply.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Final

from agentscope.agent import Agent, InjectionConfig
from agentscope.message import UserMsg
from agentscope.state import AgentState

from agentscope_reme import ReMe, Settings
from agentscope_reme.agentscope_v2 import ReMeMemoryMiddleware
from agentscope_reme.agentscope_v2.scripted import ScriptedChatModel
from benchmarks.timing import spread, timed_flushes

_NOTES: Final = 200
_WARM_UP: Final = 20
_LETTERS: Final = "bcdfghjklmnpqrstvwxz"
_OWN_WORK: Final = ("_begin", "_record")
"""The methods in which a reply waits for the memory; neither calls the other."""


async def overhead(replies: int = 300) -> list[tuple[str, str]]:
    """Rows of what was measured and its spread, in milliseconds."""
    words, took = _Words(), _Times()
    flushed: list[float] = []
    behind: list[float] = []
    with TemporaryDirectory(prefix="reme-overhead-") as folder:
        async with ReMe(Path(folder), settings=Settings(watch=False)) as reme:
            for number in range(_NOTES):
                await reme.write(f"digest/wiki/note-{number}.md", words.some(80))
            for number in range(_WARM_UP):
                await _reply(reme, words, f"s{number % 5}")
            await reme.drain()
            with timed_flushes() as flushes, _timed(took):
                for number in range(replies):
                    flushes.clear()
                    took.begin()
                    await _reply(reme, words, f"s{number % 5}")
                    took.end(sum(flushes))
                    flushed.append(sum(flushes))
                    replied = time.perf_counter()
                    await reme.drain()
                    behind.append(time.perf_counter() - replied)
    return [
        ("processor time, all threads", spread(took.processor)),
        ("time on the clock without fsync", spread(took.clock)),
        ("fsync", spread(flushed)),
        ("the index, behind the reply", spread(behind)),
    ]


async def _reply(reme: ReMe, words: _Words, session_id: str) -> None:
    agent = Agent(
        "Friday",
        "You help.",
        ScriptedChatModel([words.some(40)], context_size=10**7),
        middlewares=[reme.middleware()],
        state=AgentState(session_id=session_id),
        injection_config=InjectionConfig(inject_runtime_state=False),
    )
    await agent.reply(UserMsg("Ann", words.some(12)))


class _Words:
    """Words of which no two are alike, so that nothing is ever found."""

    def __init__(self) -> None:
        self._random = Random(7)

    def some(self, count: int) -> str:
        return " ".join("".join(self._random.choices(_LETTERS, k=10)) for _ in range(count))


class _Times:
    """Seconds spent in the middleware, one sum for each reply."""

    def __init__(self) -> None:
        self.processor: list[float] = []
        self.clock: list[float] = []
        self._now = (0.0, 0.0)

    def begin(self) -> None:
        self._now = (0.0, 0.0)

    def add(self, processor: float, clock: float) -> None:
        self._now = (self._now[0] + processor, self._now[1] + clock)

    def end(self, flushed: float) -> None:
        self.processor.append(self._now[0])
        self.clock.append(self._now[1] - flushed)


@contextmanager
def _timed(took: _Times) -> Iterator[None]:
    def timing(work: Callable[..., Any]) -> Callable[..., Any]:
        async def timed(*args: Any, **kwargs: Any) -> Any:
            processor, clock = time.process_time(), time.perf_counter()
            try:
                return await work(*args, **kwargs)
            finally:
                took.add(time.process_time() - processor, time.perf_counter() - clock)

        return timed

    originals = {name: getattr(ReMeMemoryMiddleware, name) for name in _OWN_WORK}
    for name, work in originals.items():
        setattr(ReMeMemoryMiddleware, name, timing(work))
    try:
        yield
    finally:
        for name, work in originals.items():
            setattr(ReMeMemoryMiddleware, name, work)


if __name__ == "__main__":
    for what, value in asyncio.run(overhead()):
        print(f"| {what} | {value} |")
