"""Conversations that go wrong in every order, told to real agents, with the books kept.

A `Talk` is one session. Its moves pause, resume, interrupt, fail, lose their listener, or restart
from a saved state; it keeps the books about what was said, from what the application saw.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import agentscope.event
from agentscope.agent import Agent
from agentscope.event import ConfirmResult, RequireUserConfirmEvent, UserConfirmResultEvent
from agentscope.message import Msg, TextBlock, ToolCallBlock
from agentscope.state import AgentState
from agentscope.tool import ToolChunk

from agentscope_reme.agentscope_v2.scripted import ScriptedChatModel
from agentscope_reme.testing import Request, Structured, Text, ToolCall, ToolCalls
from tests.agentscope_v2.agents import Weather, make_agent, saved_and_loaded, user

MOVES: Final = (
    "talk",
    "use an id again",
    "use a tool",
    "use two tools at once",
    "ask for permission",
    "resume",
    "refuse",
    "give up",
    "fail",
    "fail after a tool",
    "interrupt the model",
    "interrupt a tool",
    "stop listening",
    "stop listening at the end",
    "restart",
    "restart from before",
    "hear something",
    "compress",
)
"""What may happen next; a move that is not possible now becomes one that is."""

_PROVIDER_CALLS: Final = 10_000
_LONG: Final = " and so on" * 40


class Slow(Weather):
    """A tool somebody interrupts."""

    name = "slow"

    def __init__(self) -> None:
        super().__init__()
        self.reached = asyncio.Event()

    async def call(self, *args: Any, **kwargs: Any) -> ToolChunk:
        self.reached.set()
        await asyncio.Event().wait()
        raise AssertionError("never reached")


class Guarded(Weather):
    """A tool that needs a permission."""

    name = "guarded"

    def __init__(self) -> None:
        super().__init__(ask=True)


@dataclass
class Talk:
    """One session of an application around a memory.

    Args:
        session_id: its name, which stands in every text that is said.
        middleware: builds the middleware of a new agent.
        stream: whether the model answers in deltas.
        window: of the model, in tokens.

    Attributes:
        said: what the user said and the agent took.
        refused: what the user said while the agent could not take it.
        answers: what the agent said, as its context showed it at some time.
        agent: the agent as of the last restart.
    """

    session_id: str
    middleware: Callable[[], Any]
    stream: bool = False
    window: int = 100_000
    said: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    answers: set[str] = field(default_factory=set)
    agent: Agent = field(init=False)

    def __post_init__(self) -> None:
        self._lines: deque[Any] = deque()
        self._slow = Slow()
        self._asked: RequireUserConfirmEvent | None = None
        self._count = 0
        self._settled = AgentState(session_id=self.session_id)
        self._start(self._settled)

    async def make(self, move: str) -> None:
        """Make one move, or the nearest one that is possible."""
        if self._asked is not None and move not in ("restart", "resume", "refuse", "give up"):
            move = "resume"
        if self._asked is None and move in ("resume", "refuse", "give up"):
            move = "talk"
        await getattr(self, "_" + move.replace(" ", "_"))()
        self.answers.update(self._answers_in_context())
        if self._asked is None and not self._dangles():
            self._settled = saved_and_loaded(self.agent.state)

    async def finish(self) -> None:
        """Two more turns, after which nothing may be missing."""
        await self.make("talk")
        await self.make("talk")

    # The moves.

    async def _talk(self) -> None:
        await self._heard(self._says())

    async def _use_an_id_again(self) -> None:
        """Of a message the agent still has, as an application does that numbers them anew."""
        known = [msg.id for msg in self.agent.state.context if msg.role == "user"]
        self._lines = deque([self._says()])
        asked = self._asks()
        if known:
            asked.id = known[-1]
        await self._listen(asked)

    async def _use_a_tool(self) -> None:
        await self._heard(self._calls("weather"), self._says())

    async def _use_two_tools_at_once(self) -> None:
        both = ToolCalls((self._calls("weather"), self._calls("weather")), text=self._says())
        await self._heard(both, self._says())

    async def _ask_for_permission(self) -> None:
        await self._heard(self._calls("weather"), self._calls("guarded"), self._says())

    async def _resume(self, *, confirmed: bool = True) -> None:
        assert self._asked is not None
        calls = self._asked.tool_calls
        results = [ConfirmResult(confirmed=confirmed, tool_call=call) for call in calls]
        event = UserConfirmResultEvent(reply_id=self._asked.reply_id, confirm_results=results)
        self._asked = None
        await self._listen(event)

    async def _refuse(self) -> None:
        await self._resume(confirmed=False)

    async def _give_up(self) -> None:
        interrupt = getattr(agentscope.event, "UserInterruptEvent", None)
        if interrupt is None:
            await self._refuse()
            return
        assert self._asked is not None
        event = interrupt(reply_id=self._asked.reply_id)
        self._asked = None
        await self._listen(event)

    async def _fail(self) -> None:
        with contextlib.suppress(ConnectionError):
            await self._heard(ConnectionError("down"))

    async def _fail_after_a_tool(self) -> None:
        with contextlib.suppress(ConnectionError):
            await self._heard(self._calls("weather"), ConnectionError("down"))

    async def _interrupt_the_model(self) -> None:
        reached = asyncio.Event()

        async def hold(_: Request) -> str:
            reached.set()
            await asyncio.Event().wait()
            return "never said"

        await self._interrupted(reached, self._calls("weather"), hold)

    async def _interrupt_a_tool(self) -> None:
        self._slow.reached.clear()
        await self._interrupted(self._slow.reached, self._calls("slow"))

    async def _interrupted(self, reached: asyncio.Event, *steps: Any) -> None:
        self._lines = deque(steps)
        reply = asyncio.create_task(self.agent.reply(self._asks()))
        await reached.wait()
        reply.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await reply

    async def _stop_listening(self) -> None:
        self._lines = deque([self._calls("weather"), self._says()])
        await self._listen(self._asks(), most=5 + self._count % 9)

    async def _stop_listening_at_the_end(self) -> None:
        self._lines = deque([self._says()])
        await self._listen(self._asks(), until="ReplyEndEvent")

    async def _restart(self) -> None:
        self._start(saved_and_loaded(self.agent.state))

    async def _restart_from_before(self) -> None:
        self._start(saved_and_loaded(self._settled))

    async def _hear_something(self) -> None:
        await self.agent.observe(self._asks())

    async def _compress(self) -> None:
        await self.agent.observe(user(self._new("notes") + _LONG))
        await self.agent.compress_context()

    # How they are made.

    def _start(self, state: AgentState) -> None:
        self._lines.clear()
        model = ScriptedChatModel(
            [self._step] * _PROVIDER_CALLS, stream=self.stream, context_size=self.window
        )
        self.agent = make_agent(
            model,
            middlewares=[self.middleware()],
            tools=[Weather(), Guarded(), self._slow],
            state=state,
        )

    async def _step(self, request: Request) -> Any:
        if request.output is not None:
            return Structured(dict.fromkeys(request.output["properties"], "so far"))
        line = self._lines.popleft() if self._lines else self._says()
        if callable(line):
            return await line(request)
        return Text(line, thinking="hm") if isinstance(line, str) else line

    async def _heard(self, *steps: Any) -> None:
        self._lines = deque(steps)
        await self._listen(self._asks())

    async def _listen(self, given: Any, *, most: int = 10_000, until: str = "") -> None:
        """Take the events of a reply, all of them or some; a refused input was never said."""
        stream: Any = self.agent.reply_stream(given)
        try:
            async with contextlib.aclosing(stream) as events:
                await self._take(events, most, until)
        except ValueError:  # AgentScope took nothing: an earlier reply is still open
            assert isinstance(given, Msg)
            self.refused.append(self.said.pop())
            self._start(saved_and_loaded(self._settled))

    async def _take(self, events: AsyncIterator[Any], most: int, until: str) -> None:
        taken = 0
        async for event in events:
            taken += 1
            if isinstance(event, RequireUserConfirmEvent):
                self._asked = event
            if taken == most or type(event).__name__ == until:
                break

    def _asks(self) -> Msg:
        return user(self._new("asks"))

    def _new(self, verb: str) -> str:
        self._count += 1
        text = f"{self.session_id} {verb} {self._count}."
        self.said.append(text)
        return text

    def _says(self) -> str:
        self._count += 1
        return f"{self.session_id} answers {self._count}."

    def _answers_in_context(self) -> list[str]:
        return [
            block.text
            for msg in self.agent.state.context
            if msg.role == "assistant"
            for block in msg.content
            if isinstance(block, TextBlock) and block.text.startswith(self.session_id)
        ]

    def _calls(self, tool: str) -> ToolCall:
        """With an id of its own: a restarted script would begin to number anew."""
        self._count += 1
        return ToolCall(tool, id=f"{self.session_id}-{self._count}")

    def _dangles(self) -> bool:
        """Whether a tool call waits for its result: such a state is not saved as a good one."""
        answered = {
            block.id
            for msg in self.agent.state.context
            for block in msg.content
            if block.type == "tool_result"
        }
        calls = (b for m in self.agent.state.context for b in m.content)
        return any(isinstance(b, ToolCallBlock) and b.id not in answered for b in calls)


async def play(talks: Sequence[Talk], moves: Sequence[Sequence[str]]) -> None:
    """Play the moves of several sessions at the same time, each in its own order."""

    async def one(talk: Talk, own: Sequence[str]) -> None:
        for move in own:
            await talk.make(move)
        await talk.finish()

    await asyncio.gather(*(one(talk, own) for talk, own in zip(talks, moves, strict=True)))
    await asyncio.sleep(0)
