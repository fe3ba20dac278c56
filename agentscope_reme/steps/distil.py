"""Distil: what a session logged and nobody has read yet becomes its daily card."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import groupby, takewhile
from typing import Final

from pydantic import BaseModel, ConfigDict

from agentscope_reme.errors import Conflict, ReMeError
from agentscope_reme.files.session_log import LoggedMessage, SessionLog
from agentscope_reme.messages import latest_moment
from agentscope_reme.ports import AgentPort
from agentscope_reme.results import AutoMemoryResult, Failure
from agentscope_reme.steps.base import Ref
from agentscope_reme.steps.card_writer import CardOutcome, CardRequest, CardWriter
from agentscope_reme.steps.session import SessionStep
from agentscope_reme.steps.transcript import split_backlog

_LOCKS: Final = "distilling"
_ATTEMPTS: Final = 2  # a person edited the card while the agent worked: once more, then later


class DistilArguments(BaseModel):
    """What a distillation reads from its run.

    ``recorded_ids`` are turns that belong to one call and so to one card; other pending turns are
    split at day boundaries. ``date`` overrides the day of all of them.
    """

    model_config = ConfigDict(frozen=True)

    session_id: str
    recorded_ids: frozenset[str] = frozenset()
    date: datetime.date | None = None
    hint: str = ""


@dataclass(frozen=True, slots=True)
class _Part:
    day: str
    turns: list[LoggedMessage]


class DistilStep(SessionStep[AutoMemoryResult]):
    """Runs the memory agent over the pending turns of one session, part by part.

    One process and one task distil a session at a time. After each part the cursor is written to
    the session log, so a crash or a failing model loses no work that was done and skips none that
    was not.
    """

    store = Ref(lambda parts: parts.store)
    settings = Ref(lambda parts: parts.settings)
    language = Ref(lambda parts: parts.language)
    agent = Ref(lambda parts: parts.agent)
    failures = Ref(lambda parts: parts.failures)

    async def execute(self) -> AutoMemoryResult:
        """Distil the session of the run; without a model it stays pending.

        Raises:
            BadInput: the session id cannot name a file.
        """
        arguments = self.context.parse(DistilArguments)
        log = self.log_of(arguments.session_id)
        result = AutoMemoryResult(session_path=log.path)
        async with self._alone(arguments.session_id) as mine:
            if mine and self.agent is not None:
                await self._distil_all(arguments, log, self._writer(self.agent), result)
            else:
                result.pending = bool(await asyncio.to_thread(log.pending))
            if not (result.pending or result.failed or result.date):
                await asyncio.to_thread(_point_to_last_card, log, result)
        return _told(result, has_model=self.agent is not None)

    @asynccontextmanager
    async def _alone(self, session_id: str) -> AsyncIterator[bool]:
        shared = self.context.application.metadata.setdefault(_LOCKS, {})
        lock: asyncio.Lock = shared.setdefault(session_id, asyncio.Lock())
        async with lock:
            with self.locks.claim(f"session {session_id}") as claimed:
                yield claimed

    async def _distil_all(
        self,
        arguments: DistilArguments,
        log: SessionLog,
        writer: CardWriter,
        result: AutoMemoryResult,
    ) -> None:
        while turns := await asyncio.to_thread(log.pending):
            part = self._first_part(arguments, turns)
            try:
                await self._distil(arguments, log, part, writer, result)
            except ReMeError as error:
                self.failures.report("auto_memory", error)
                result.success = False
                result.pending = True
                result.failed.append(Failure(item=arguments.session_id, reason=str(error)))
                return

    def _first_part(self, arguments: DistilArguments, turns: Sequence[LoggedMessage]) -> _Part:
        own = arguments.recorded_ids
        first_is_own = turns[0].id in own
        alike = list(takewhile(lambda turn: (turn.id in own) == first_is_own, turns))
        if arguments.date is not None:
            day = arguments.date.isoformat()
        elif first_is_own:
            day = self._latest_day(alike)
        else:
            day, alike = self._first_day(alike)
        parts = split_backlog(
            alike, self.clock, budget_tokens=self.settings.auto_memory_prompt_tokens
        )
        return _Part(day, parts[0])

    def _latest_day(self, turns: Sequence[LoggedMessage]) -> str:
        latest = latest_moment([turn.message for turn in turns], self.clock)
        return (latest or self.context.now).date().isoformat()

    def _first_day(self, turns: Sequence[LoggedMessage]) -> tuple[str, list[LoggedMessage]]:
        current = next((day for turn in turns if (day := self._day(turn))), None)
        days: list[str] = []
        for turn in turns:  # a turn without a time belongs to the day of the one before it
            current = self._day(turn) or current
            days.append(current or self.context.now.date().isoformat())
        _, first = next(groupby(zip(days, turns, strict=True), key=lambda pair: pair[0]))
        return days[0], [turn for _, turn in first]

    def _day(self, turn: LoggedMessage) -> str | None:
        moment = turn.message.created_at
        return self.clock.localise(moment).date().isoformat() if moment else None

    async def _distil(
        self,
        arguments: DistilArguments,
        log: SessionLog,
        part: _Part,
        writer: CardWriter,
        result: AutoMemoryResult,
    ) -> None:
        request = CardRequest(
            day=part.day,
            session_id=arguments.session_id,
            session_path=log.path,
            hint=arguments.hint,
            messages=tuple(turn.message for turn in part.turns),
        )
        outcome = await self._write_card(writer, request)
        await asyncio.to_thread(log.mark_distilled, part.turns[-1].id, card=outcome.path)
        result.model_calls += outcome.calls
        result.date = part.day
        if outcome.path is not None:
            result.path = outcome.path
            result.created = result.created or outcome.created
            result.modified = result.modified or outcome.modified

    def _writer(self, agent: AgentPort) -> CardWriter:
        return CardWriter(
            agent=agent,
            vault=self.vault,
            store=self.store,
            settings=self.settings,
            clock=self.clock,
            workspace=self.workspace,
            language=self.language,
            failures=self.failures,
        )

    async def _write_card(self, writer: CardWriter, request: CardRequest) -> CardOutcome:
        for _ in range(_ATTEMPTS - 1):
            try:
                return await writer.write(request)
            except Conflict as error:
                self.failures.report("auto_memory", error)
        return await writer.write(request)


def _point_to_last_card(log: SessionLog, result: AutoMemoryResult) -> None:
    cards = [cursor.card for cursor in log.read().distilled if cursor.card is not None]
    result.path = cards[-1] if cards else None


def _told(result: AutoMemoryResult, *, has_model: bool) -> AutoMemoryResult:
    if result.failed:
        said = f"The turns are saved in {result.session_path}; distilling them failed and will be "
        said += f"tried again: {result.failed[-1].reason}"
    elif result.pending:
        why = "another process is distilling this session" if has_model else "there is no model"
        said = f"The turns are saved in {result.session_path} and wait to be distilled: {why}."
    elif not result.date:
        where = f", last into {result.path}" if result.path else ""
        said = f"Nothing is waiting: all of {result.session_path} is distilled{where}."
    elif result.path is None:
        said = "Nothing worth a card was found."
    else:
        said = f"{'Created' if result.created else 'Updated'} {result.path}."
    result.answer = said
    return result
