"""What remembering adds to a reply: a real agent, its hook (1.x) or middleware (2.x), every flush.

Run with ``python -m benchmarks.reply_overhead [--replies 200]``, or see it in ``benchmarks.spine``.
With AgentScope 2.x a second line has the middleware look for memories that are not there.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from agentscope_reme import ReMe, Settings
from agentscope_reme.agentscope_line import installed_line
from agentscope_reme.testing import ScriptedChatModel
from benchmarks.synthetic_corpus import Corpus
from benchmarks.timing import Row, spread, timed_flushes

_WORDS_OF_A_QUESTION = 12


async def measured(folder: Path, replies: int, *, recall: bool = False) -> Row:
    """How long a reply waits for the memory behind it.

    The agent's window grows to two messages for each reply. A reply may wait for one flush, which
    is the device's and counted apart; so is what the index takes behind its back, which is over
    before the next question, as it is before a person has typed one.

    Args:
        folder: where the memory is made.
        replies: how many are measured.
        recall: look for memories before each reply; nobody ever said any word of a question.
    """
    os.environ.setdefault("AGENTSCOPE_DISABLE_CONSOLE_OUTPUT", "true")
    corpus = Corpus()
    window = {} if installed_line() == 1 else {"context_size": 10**7}
    model: Any = ScriptedChatModel([corpus.text() for _ in range(replies + 1)], **window)
    own: list[float] = []
    flushed: list[float] = []
    behind: list[float] = []
    async with ReMe(folder, settings=Settings(watch=False)) as reme:
        agent = _agent(model)
        how = "auto" if recall else "off"
        reme.attach(agent, session_id="talk", recall=how, compact=False)
        await _ask(agent, corpus.text())  # the first one makes the log and its folder
        with timed_flushes() as flushes, _timed(*_work_of_a_reply()) as worked:
            for number in range(replies):
                flushes.clear()
                worked.clear()
                await _ask(agent, _unsaid(number) if recall else corpus.text())
                assert len(flushes) == 1, f"one reply took {len(flushes)} flushes"
                own.append(sum(worked) - sum(flushes))
                flushed.append(sum(flushes))
                asked_again = time.perf_counter()
                await reme.drain()
                behind.append(time.perf_counter() - asked_again)
        found = await reme.list("session/dialog")
        assert found.entries, "nothing was recorded"
    kind = "hook" if installed_line() == 1 else "middleware"
    detail = (
        f"{replies} replies in one window, fsync on; the one flush: {spread(flushed)}; "
        f"the index, behind the reply: {spread(behind)}"
    )
    does = "remembering and a recall in vain" if recall else "remembering"
    return Row(f"{does}, by the {kind}, adds to a reply", spread(own), detail)


def _unsaid(number: int) -> str:
    """A question of words that no other question and no answer has."""
    words = (f"{number:06d}{word:02d}" for word in range(_WORDS_OF_A_QUESTION))
    return " ".join("qx" + "".join(chr(ord("a") + int(digit)) for digit in word) for word in words)


def _agent(model: Any) -> Any:
    if installed_line() == 1:
        from agentscope.agent import ReActAgent
        from agentscope.formatter import OpenAIChatFormatter

        return ReActAgent("Friday", "You help.", model, OpenAIChatFormatter())
    from agentscope.agent import Agent

    return Agent("Friday", "You help.", model)


async def _ask(agent: Any, text: str) -> None:
    if installed_line() == 1:
        from agentscope.message import Msg

        await agent(Msg("user", text, "user"))
        return
    from agentscope.message import UserMsg

    await agent.reply(UserMsg("user", text))


def _work_of_a_reply() -> tuple[type, tuple[str, ...]]:
    """The methods a reply waits for; none of them calls another."""
    if installed_line() == 1:
        from agentscope_reme.hooks import AutoMemoryHook

        return AutoMemoryHook, ("save",)
    from agentscope_reme import ReMeMemoryMiddleware

    return ReMeMemoryMiddleware, ("_begin", "_record")


@contextmanager
def _timed(owner: type, names: tuple[str, ...]) -> Iterator[list[float]]:
    took: list[float] = []

    def timing(work: Callable[..., Any]) -> Callable[..., Any]:
        async def timed(*args: Any, **kwargs: Any) -> Any:
            before = time.perf_counter()
            try:
                return await work(*args, **kwargs)
            finally:
                took.append(time.perf_counter() - before)

        return timed

    originals = {name: getattr(owner, name) for name in names}
    for name, work in originals.items():
        setattr(owner, name, timing(work))
    try:
        yield took
    finally:
        for name, work in originals.items():
            setattr(owner, name, work)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replies", type=int, default=200)
    count = parser.parse_args().replies
    for recalls in (False, True)[: installed_line()]:
        with tempfile.TemporaryDirectory(prefix="reme-reply-") as name:
            row = asyncio.run(measured(Path(name), count, recall=recalls))
        print(f"{row.what}: {row.value} ({row.detail})")
