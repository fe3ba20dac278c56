"""The conversations every middleware goes through; each gives one cell of the table."""

from __future__ import annotations

import asyncio
import base64
import json
import statistics
import time
from collections.abc import Awaitable, Callable
from typing import Final

from agentscope.event import ConfirmResult, RequireUserConfirmEvent, UserConfirmResultEvent
from agentscope.message import Base64Source, DataBlock, TextBlock, UserMsg

from benchmarks.memory_middlewares.contenders import FACT, Contender
from benchmarks.memory_middlewares.stage import Stage, held_back, stage
from tests.loopback import Reply, ToolCall

QUESTION: Final = "When does the zebra vault open?"
SMALL_TALK: Final = "What is two plus two?"
LATENCY_REPLIES: Final = 30

_PIXELS = base64.b64encode(bytes(range(64)) * 8).decode()
_IMAGE = DataBlock(source=Base64Source(data=_PIXELS, media_type="image/png"))

Conversation = Callable[[type[Contender]], Awaitable[str]]


async def one_step_recall(kind: type[Contender]) -> str:
    """A reply of a single model call: was the fact in its prompt?"""
    async with stage(kind) as here:
        await (await here.agent()).reply(UserMsg("Ann", QUESTION))
        return _yes(_shows(here, 0, FACT))


async def two_step_recall(kind: type[Contender]) -> str:
    """A reply that calls a tool first: was the fact in its second prompt?"""
    async with stage(kind) as here:
        here.script(Reply(tool_calls=(ToolCall("weather", {}),)))
        await (await here.agent()).reply(UserMsg("Ann", QUESTION))
        return _yes(_shows(here, 1, FACT))


async def image_turn(kind: type[Contender]) -> str:
    """A turn of words and an image: what of it reached the memory?"""
    async with stage(kind, primed=False) as here:
        said = [TextBlock(text="This is the violet harbour."), _IMAGE]
        await (await here.agent()).reply(UserMsg("Ann", said))
        await here.contender.settle()
        return f"words {_yes(here.reached_memory('violet harbour'))}, image {_yes(_image(here))}"


async def image_only_turn(kind: type[Contender]) -> str:
    """A turn that is nothing but an image."""
    async with stage(kind, primed=False) as here:
        await (await here.agent()).reply(UserMsg("Ann", [_IMAGE]))
        await here.contender.settle()
        return _yes(_image(here))


async def permission_pause(kind: type[Contender]) -> str:
    """A reply that waits for a permission and goes on: did question and answer reach the memory?"""
    async with stage(kind, primed=False) as here:
        here.script(
            Reply(tool_calls=(ToolCall("weather", {}),)), Reply(text="Turquoise it is, at last.")
        )
        agent = await here.agent(ask=True)
        events = [e async for e in agent.reply_stream(UserMsg("Ann", "Which colour, marmot?"))]
        (asked,) = [event for event in events if isinstance(event, RequireUserConfirmEvent)]
        results = [ConfirmResult(confirmed=True, tool_call=call) for call in asked.tool_calls]
        await agent.reply(UserConfirmResultEvent(reply_id=asked.reply_id, confirm_results=results))
        await here.contender.settle()
        question, answer = here.reached_memory("marmot"), here.reached_memory("Turquoise it is")
        return f"question {_yes(question)}, answer {_yes(answer)}"


async def interrupted_reply(kind: type[Contender]) -> str:
    """The reply is cancelled while the model thinks: did what the user said reach the memory?"""
    async with stage(kind, primed=False) as here:
        reply, released = held_back()
        here.script(reply)
        agent = await here.agent()
        replying = asyncio.ensure_future(agent.reply(UserMsg("Ann", "The marmot sleeps.")))
        while not here.prompts:  # noqa: ASYNC110 - the provider runs in a thread of its own
            await asyncio.sleep(0.001)
        replying.cancel()
        await asyncio.gather(replying, return_exceptions=True)
        released.set()
        await here.contender.settle()
        return _yes(here.reached_memory("The marmot sleeps."))


async def failed_reply(kind: type[Contender]) -> str:
    """The model fails: did what the user said reach the memory?"""
    async with stage(kind, primed=False) as here:
        here.script(Reply(status=400))
        agent = await here.agent()
        await asyncio.gather(
            agent.reply(UserMsg("Ann", "The marmot sleeps.")), return_exceptions=True
        )
        await here.contender.settle()
        return _yes(here.reached_memory("The marmot sleeps."))


async def concurrent_sessions(kind: type[Contender]) -> str:
    """Two sessions share one instance at the same time; one asks for the fact, one does not."""
    async with stage(kind) as here:
        agents = [await here.agent(f"s{number}") for number in range(2)]
        here.script(*(Reply(tool_calls=(ToolCall("weather", {}),)) for _ in range(2)))
        await asyncio.gather(
            agents[0].reply(UserMsg("Ann", QUESTION)), agents[1].reply(UserMsg("Ann", SMALL_TALK))
        )
        texts = [json.dumps(request.messages) for request in here.prompts]
        served = any(FACT in text for text in texts if QUESTION in text)
        confused = any(FACT in text for text in texts if SMALL_TALK in text)
        return "mixed up" if confused else _yes(served)


async def prompt_tokens(kind: type[Contender]) -> str:
    """What an unrelated question costs: tokens in the prompt, and in the tools' schemas."""
    bare, bare_tools = await _prompt_bytes(Contender)
    full, tools = await _prompt_bytes(kind)
    return f"{(full - bare) // 4:,} + {(tools - bare_tools) // 4:,}"


async def added_latency(kind: type[Contender]) -> str:
    """The median of a reply with the middleware, less that of the same agent without."""
    with_it, without = [], []
    async with stage(kind) as here, stage(Contender) as bare:
        for number in range(LATENCY_REPLIES):  # taken in turns, so that both see the same machine
            with_it.append(await _seconds(here, f"a{number}"))
            without.append(await _seconds(bare, f"b{number}"))
    added = statistics.median(with_it) - statistics.median(without)
    return f"{added * 1000:.1f} ms"


async def model_calls(kind: type[Contender]) -> str:
    """Calls of the memory's own model that one reply waits for or starts."""
    async with stage(kind) as here:
        await (await here.agent()).reply(UserMsg("Ann", SMALL_TALK))
        await here.contender.settle()
        return str(len(here.provider.chats) - len(here.prompts))


CONVERSATIONS: Final[dict[str, Conversation]] = {
    "the fact is in the prompt of a one-step reply": one_step_recall,
    "the fact is in the second prompt of a two-step reply": two_step_recall,
    "a turn with an image reaches memory": image_turn,
    "an image without words reaches memory": image_only_turn,
    "a reply that paused for a permission reaches memory": permission_pause,
    "an interrupted turn reaches memory": interrupted_reply,
    "a turn whose model failed reaches memory": failed_reply,
    "two sessions at once on one instance": concurrent_sessions,
    "tokens added when nothing is relevant: prompt + tool schemas": prompt_tokens,
    "model calls of the memory for one reply": model_calls,
    "median time added to a reply": added_latency,
}


def _yes(value: bool) -> str:
    return "yes" if value else "**no**"


def _shows(here: Stage, number: int, words: str) -> bool:
    return words in "\n".join(here.prompts[number].texts)


def _image(here: Stage) -> bool:
    return here.reached_memory(_PIXELS) or base64.b64decode(_PIXELS) in here.contender.kept()


async def _prompt_bytes(kind: type[Contender]) -> tuple[int, int]:
    async with stage(kind) as here:
        await (await here.agent()).reply(UserMsg("Ann", SMALL_TALK))
        (request,) = here.prompts
        tools = request.body.get("tools", [])
        return len("\n".join(request.texts).encode()), len(json.dumps(tools).encode())


async def _seconds(here: Stage, session_id: str) -> float:
    agent = await here.agent(session_id)
    begun = time.perf_counter()
    await agent.reply(UserMsg("Ann", SMALL_TALK))
    taken = time.perf_counter() - begun
    await here.contender.settle()  # people take longer to answer than the background needs
    return taken
