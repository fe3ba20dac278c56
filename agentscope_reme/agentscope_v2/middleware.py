"""Memory for an AgentScope 2.x agent, as one middleware."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractContextManager, aclosing, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Literal, get_args
from weakref import WeakKeyDictionary

from agentscope.agent import Agent
from agentscope.event import ReplyEndEvent
from agentscope.message import Msg
from agentscope.middleware import MiddlewareBase
from agentscope.tool import ToolBase

from agentscope_reme.agentscope_v2.checkpoint import summarised_by
from agentscope_reme.agentscope_v2.dropped import Snapshot, dropped
from agentscope_reme.agentscope_v2.formats import supports_images
from agentscope_reme.agentscope_v2.injection import injected, recalled_message
from agentscope_reme.agentscope_v2.inputs import (
    last_question,
    names_files,
    originals,
    told_apart,
    with_files_read,
)
from agentscope_reme.agentscope_v2.tools import as_toolbase, register_tools, usual
from agentscope_reme.agentscope_v2.turns import Progress, SettledStart, is_parked
from agentscope_reme.errors import BadInput
from agentscope_reme.ports import MemoryService, Tool
from agentscope_reme.runtime.starting import start_soon, started
from agentscope_reme.workspace import encode_name

Mode = Literal["both", "static", "agent", "off"]

_SHARE_OF_WINDOW: Final = 8  # recalled text never takes more than this fraction of the context


@dataclass(slots=True)
class _Turn:
    """One reply under way."""

    session_id: str
    originals: dict[str, Msg] = field(default_factory=dict)
    question_id: str | None = None
    recalled: Msg | None = None
    ended: bool = False


class ReMeMemoryMiddleware(MiddlewareBase):
    """Recalls before a reply, offers the memory tools, and records what was said.

    ``Agent(..., middlewares=[ReMeMemoryMiddleware(reme)])``. One instance may serve any number of
    agents and sessions at once, and may be built anew for every turn: progress is kept in the
    agent's own state. A reply is recorded durably before its end is announced, one that was
    interrupted or failed as far as it came. Of a reply that waits for the user, the question is
    recorded then, and the rest when it goes on. A message that comes under the id of another one
    gets an id of its own in the agent's context; see `told_apart`. Recalled text is shown to the
    model for each call and is never part of the context.

    A failure of the memory never costs a reply: it is reported to the memory and counted there.
    Recall gives up after ``recall_deadline_ms``. Recording waits until the turn is on the device.
    It gives up on a memory that does not open, after `START_PATIENCE_SECONDS`, and on a lock that a
    stopped process holds, after ``record_patience_seconds``; the turn is recorded with the next.

    Args:
        reme: the memory; started at the first reply when it was not.
        mode: ``static`` recalls by itself, ``agent`` gives the agent tools, ``both`` does both,
            ``off`` only records.
        session_id: one session for every agent; by default each agent's ``state.session_id``.
        record: save turns as they end; without it nothing is archived either.
        compact: archive and record what a compression of the context is about to drop.
        checkpoint: let the memory's model write the summary of a compression, a checkpoint with
            fixed sections; when it fails, AgentScope's own summary is made.
        include: names of the memory tools to offer; by default all of them, in mode ``both``
            without the handling of front matter and of single days.
        read_only: offer only tools that change nothing.
        key: where progress stands in ``agent.state.middle_context``; further memories of one agent
            with the same key are numbered in their order.

    Raises:
        BadInput: the mode is not one of the four, or the session id is no name.
    """

    def __init__(
        self,
        reme: MemoryService,
        *,
        mode: Mode = "both",
        session_id: str | None = None,
        record: bool = True,
        compact: bool = True,
        checkpoint: bool = False,
        include: Sequence[str] | None = None,
        read_only: bool = False,
        key: str = "agentscope_reme",
    ) -> None:
        if mode not in get_args(Mode):
            raise BadInput(mode, "no such mode", f"Use one of {', '.join(get_args(Mode))}.")
        if session_id is not None:
            encode_name(session_id)
        self._reme = reme
        self._mode = mode
        self._session_id = session_id
        self._records = record
        self._compacts = compact and record
        self._checkpoint = checkpoint
        self._include = include
        self._read_only = read_only
        self._key = key
        self._turns: WeakKeyDictionary[Agent, _Turn] = WeakKeyDictionary()
        self._settled: WeakKeyDictionary[Agent, SettledStart] = WeakKeyDictionary()
        self._names: frozenset[str] | None = None

    async def get_middleware_key(self) -> str:
        """The key it was made with; see `key_on`."""
        return self._key

    @property
    def key(self) -> str:
        """The key it was made with; see `key_on`."""
        return self._key

    def key_on(self, agent: Agent) -> str:
        """Where progress stands for this agent: numbered where another memory has the same key.

        The numbers follow the order of the middlewares, so an agent that is built again is given
        them in the same order, or a key for each.

        One memory that is there twice has one progress; two memories never share one, or the
        second would take for recorded what only the first one has.
        """
        chain = getattr(agent, "_reply_middlewares", ())
        rivals = [m for m in chain if isinstance(m, ReMeMemoryMiddleware) and m.key == self._key]
        memories = list(dict.fromkeys(id(m._reme) for m in rivals))
        place = memories.index(id(self._reme)) if id(self._reme) in memories else 0
        return f"{self._key}-{place + 1}" if place else self._key

    def serves(self, reme: MemoryService) -> bool:
        """Whether this is a middleware of that memory."""
        return reme is self._reme

    def refuse_other_session(
        self, reme: MemoryService, agent: Agent, session_id: str | None
    ) -> None:
        """Refuse a second session of one memory for an agent that has this middleware.

        Raises:
            BadInput: `reme` records this agent under another session.
        """
        known, wanted = self._session_of(agent), session_id or str(agent.state.session_id)
        if self.serves(reme) and known != wanted:
            raise BadInput(
                wanted,
                f"this agent is attached to this memory as the session {known!r}",
                "Call `detach()` of that handle first, or use the same session.",
            )

    async def list_tools(self) -> list[ToolBase]:
        """The memory tools, for a toolkit that is built before the first reply."""
        return [as_toolbase(tool, in_its_session=True) for tool in self._tools()]

    async def on_reply(
        self, agent: Agent, input_kwargs: dict[str, Any], next_handler: Callable[..., Any]
    ) -> AsyncGenerator[Any, None]:
        """Prepare memory, let the agent reply, and record when the reply ends."""
        inputs = input_kwargs.get("inputs")
        given = self._told_apart(inputs, agent) if self._records else inputs
        if given is not inputs:
            input_kwargs = {**input_kwargs, "inputs": given}
        turn = _Turn(self._session_of(agent), originals(given))
        await self._begin(agent, turn)
        self._turns[agent] = turn
        try:
            async with aclosing(next_handler(**input_kwargs)) as items:
                async for item in items:
                    if isinstance(item, ReplyEndEvent):
                        await self._record(agent, turn, agent.state.context)
                    # Another middleware may keep the end to itself: then the reply goes on.
                    if not isinstance(item, Msg):
                        turn.ended = isinstance(item, ReplyEndEvent)
                    yield item
        finally:
            if self._turns.get(agent) is turn:
                del self._turns[agent]
            if not turn.ended:
                await self._settle(agent, turn)

    async def on_model_call(
        self, agent: Agent, input_kwargs: dict[str, Any], next_handler: Callable[..., Any]
    ) -> Any:
        """Show the recalled memory to the model, for this call only."""
        turn = self._turns.get(agent)
        if turn is None or turn.recalled is None or turn.session_id != self._session_of(agent):
            return await next_handler(**input_kwargs)
        messages = injected(
            input_kwargs["messages"],
            turn.recalled,
            before=turn.question_id,
            context_ids={msg.id for msg in agent.state.context},
            images=supports_images(input_kwargs.get("current_model", agent.model)),
        )
        return await next_handler(**{**input_kwargs, "messages": messages})

    async def on_compress_context(
        self, agent: Agent, input_kwargs: dict[str, Any], next_handler: Callable[..., Any]
    ) -> None:
        """Let AgentScope shorten the context, and keep in full what it dropped."""
        before = Snapshot(agent.state.context) if self._compacts else None
        try:
            with self._summarised(agent, input_kwargs) as given:
                await next_handler(**given)
        finally:  # a compression that was interrupted may have dropped messages all the same
            if before is not None and before.differs_from(agent.state.context):
                await self._keep_dropped(agent, before.messages())

    def _summarised(
        self, agent: Agent, given: dict[str, Any]
    ) -> AbstractContextManager[dict[str, Any]]:
        if not self._checkpoint:
            return nullcontext(given)
        return summarised_by(self._reme, agent, given)

    async def _begin(self, agent: Agent, turn: _Turn) -> None:
        start_soon(self._reme)
        if self._records and names_files(turn.originals.values()):
            await self._read_files(turn)
        if self._mode in ("both", "agent"):
            try:
                await register_tools(agent.toolkit, self._tools())
            except Exception as error:  # noqa: BLE001 - memory must never cost a reply
                self._reme.report_failure("middleware.tools", error)
        if self._mode in ("both", "static"):
            await self._recall(agent, turn)

    def _told_apart(self, inputs: Any, agent: Agent) -> Any:
        try:
            return told_apart(inputs, agent.state.context)
        except Exception as error:  # noqa: BLE001 - memory must never cost a reply
            self._reme.report_failure("middleware.inputs", error)
            return inputs

    async def _read_files(self, turn: _Turn) -> None:
        try:  # now, for a tool may move or delete what it was given
            turn.originals = await asyncio.to_thread(with_files_read, turn.originals)
        except Exception as error:  # noqa: BLE001 - memory must never cost a reply
            self._reme.report_failure("middleware.attachments", error)

    async def _recall(self, agent: Agent, turn: _Turn) -> None:
        asked = list(turn.originals.values()) or last_question(agent.state.context)
        turn.question_id = asked[0].id if asked else None
        query = "\n".join(text for msg in asked if (text := msg.get_text_content()))
        if not query.strip():
            return
        limits = self._reme.settings
        budget = min(limits.recall_budget_tokens, agent.model.context_size // _SHARE_OF_WINDOW)
        try:
            async with asyncio.timeout(limits.recall_deadline_ms / 1000):
                await started(self._reme)
                found = await self._reme.recall(
                    query, budget_tokens=max(budget, 1), media=supports_images(agent.model)
                )
            turn.recalled = recalled_message(found) if found.success else None
        except Exception as error:  # noqa: BLE001 - the deadline included: the reply goes on without
            self._reme.report_failure("middleware.recall", error)

    async def _settle(self, agent: Agent, turn: _Turn) -> None:
        """Record a reply that did not reach its end: parked, interrupted or failed."""
        context = agent.state.context
        if not is_parked(context, agent.name):
            await self._record(agent, turn, context)
            return
        # The answer follows when the reply goes on; the question, with its images, is safe now.
        said = [msg for msg in context if msg.id != agent.state.reply_id]
        await self._record(agent, turn, said, distil=False)

    async def _record(
        self, agent: Agent, turn: _Turn, context: Sequence[Msg], *, distil: bool = True
    ) -> None:
        if not self._records:
            return
        try:
            await started(self._reme)
            settled = self._settled.setdefault(agent, SettledStart())
            progress = Progress(agent.state, self.key_on(agent), settled)
            new = progress.unrecorded(context, agent.name)
            look = partial(
                progress.fresh,
                new,
                originals=turn.originals,
                agent_name=agent.name,
                memory_tools=self._tool_names(),
            )
            on_disk = names_files(turn.originals.get(msg.id, msg) for msg in new)
            fresh = await asyncio.to_thread(look) if on_disk else look()
            if fresh:
                said = [item.message for item in fresh]
                await self._reme.record(turn.session_id, said, distil=distil)
                progress.mark(fresh)
        except Exception as error:  # noqa: BLE001 - what was not recorded is tried again next turn
            self._reme.report_failure("middleware.record", error)

    async def _keep_dropped(self, agent: Agent, before: Sequence[Msg]) -> None:
        running = self._turns.get(agent)
        turn = running or _Turn(self._session_of(agent))
        try:
            lost = await asyncio.to_thread(dropped, before, agent.state.context, turn.originals)
        except Exception as error:  # noqa: BLE001 - memory must never cost a reply
            self._reme.report_failure("middleware.archive", error)
            lost = []
        if not lost:
            return
        await self._record(agent, turn, before, distil=running is None)
        try:  # after the log has the words: then they are searched there, once
            await started(self._reme)
            await self._reme.archive(turn.session_id, lost)
        except Exception as error:  # noqa: BLE001 - memory must never cost a reply
            self._reme.report_failure("middleware.archive", error)

    def _tool_names(self) -> frozenset[str]:
        if self._names is None:
            self._names = frozenset(tool.name for tool in self._reme.tools())
        return self._names

    def _session_of(self, agent: Agent) -> str:
        return self._session_id or str(agent.state.session_id)

    def _tools(self) -> list[Tool]:
        tools = self._reme.tools(include=self._include, read_only=self._read_only)
        if self._mode != "both" or self._include is not None:
            return tools
        return usual(tools)
