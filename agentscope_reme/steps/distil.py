"""Distil: what a session logged and nobody has read yet becomes its daily card."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Final
from weakref import WeakValueDictionary

from pydantic import BaseModel, ConfigDict, Field

from agentscope_reme.errors import Conflict, ModelFailed, ReMeError
from agentscope_reme.files.growing_file import Extension
from agentscope_reme.files.session_log import LoggedMessage, SessionLog
from agentscope_reme.messages import Message
from agentscope_reme.ports import AgentPort, prompt_budget
from agentscope_reme.results import AutoMemoryResult, Failure
from agentscope_reme.runtime.budget import CallBudget
from agentscope_reme.runtime.refusals import is_refusal
from agentscope_reme.steps.auto_memory_answers import point_to_last_card, told
from agentscope_reme.steps.base import Ref
from agentscope_reme.steps.card_writer import CardOutcome, CardRequest, CardWriter
from agentscope_reme.steps.image_places import image_folder
from agentscope_reme.steps.images import kept_sources, refuse_blind, sources_of, with_images
from agentscope_reme.steps.parts import Part, first_part
from agentscope_reme.steps.requests import NamedRequest, earlier_answer
from agentscope_reme.steps.session import SessionStep

_LOCKS: Final = "distilling"
_FEWEST_CALLS: Final = 2  # write a card, and say so


class DistilArguments(BaseModel):
    """What a distillation reads from its run.

    ``recorded_ids`` are turns that belong to one call and so to one card; other pending turns are
    split at day boundaries. ``date`` overrides the day of all of them. With ``include_images`` the
    model sees images: those of ``image_payloads`` as they were given, others as they were saved.
    ``image_sources`` are the images of the call; ``request`` is its name, for a repeat.

    ``images_if_possible`` is for work nobody waits for: a model that sees is shown the saved
    images, any other gets their sources in words, and the card lists them either way.
    """

    model_config = ConfigDict(frozen=True)

    session_id: str
    recorded_ids: frozenset[str] = frozenset()
    date: datetime.date | None = None
    hint: str = ""
    include_images: bool = False
    images_if_possible: bool = False
    image_payloads: Mapping[str, str] = Field(default_factory=dict)
    image_sources: tuple[str, ...] = ()
    request: NamedRequest | None = None


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
    no_agent = Ref(lambda parts: parts.why_no_agent)
    failures = Ref(lambda parts: parts.failures)
    redactor = Ref(lambda parts: parts.redactor)

    async def execute(self) -> AutoMemoryResult:
        """Distil the session of the run; without a model it stays pending.

        Raises:
            BadInput: the session id cannot name a file.
        """
        arguments = self._seeing(self.context.parse(DistilArguments))
        log = self.log_of(arguments.session_id)
        result = AutoMemoryResult(
            session_path=self.evidence_of(log), images=list(arguments.image_sources)
        )
        async with self._alone(arguments.session_id) as mine:
            if mine and arguments.request is not None:  # another process may have been faster
                known = await asyncio.to_thread(earlier_answer, log, arguments.request)
                if known is not None:
                    return known
            if mine and self.agent is not None:
                await self._distil_all(arguments, log, self._writer(self.agent), result)
            else:
                result.pending = bool(await asyncio.to_thread(log.pending))
            if not (result.pending or result.failed or result.date):
                await asyncio.to_thread(point_to_last_card, log, result)
            answer = told(result, no_agent=self.no_agent)
            if mine and arguments.request is not None and answer.success and not answer.pending:
                await asyncio.to_thread(self._keep_answer, log, arguments.request, answer)
        return answer

    def _seeing(self, arguments: DistilArguments) -> DistilArguments:
        """Whether images are shown is settled once for a run."""
        can_see = self.agent is not None and self.agent.supports_images
        if not (arguments.images_if_possible and can_see and self.settings.max_image_num):
            return arguments
        return arguments.model_copy(update={"include_images": True})

    @asynccontextmanager
    async def _alone(self, session_id: str) -> AsyncIterator[bool]:
        shared = self.context.application.metadata.setdefault(_LOCKS, WeakValueDictionary())
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
        budget = CallBudget(self.settings.job_model_calls)
        while turns := await asyncio.to_thread(log.pending):
            part = await asyncio.to_thread(self._first_part, arguments, turns)
            granted = budget.reserve(self.settings.agent_max_iters)
            if granted < _FEWEST_CALLS:
                result.pending = True
                return
            try:
                used = await self._distil(arguments, log, part, writer, granted, result)
                budget.give_back(granted - used)
            except ReMeError as error:
                self.failures.report("auto_memory", error)
                result.success = False
                result.pending = True
                result.failed.append(Failure(item=arguments.session_id, reason=str(error)))
                return

    def _first_part(self, arguments: DistilArguments, turns: Sequence[LoggedMessage]) -> Part:
        images = self.settings.max_image_num if arguments.include_images else None
        return first_part(
            turns,
            own=arguments.recorded_ids,
            date=arguments.date,
            clock=self.clock,
            now=self.context.now,
            budget_tokens=prompt_budget(self.agent, self.settings.auto_memory_prompt_tokens),
            most_images=images,
        )

    async def _distil(
        self,
        arguments: DistilArguments,
        log: SessionLog,
        part: Part,
        writer: CardWriter,
        max_iters: int,
        result: AutoMemoryResult,
    ) -> int:
        request = await asyncio.to_thread(self._request, arguments, log, part, result.session_path)
        if arguments.include_images:
            shown = sources_of(request.messages)
            result.images = list(dict.fromkeys([*result.images, *shown]))
        patient = arguments.images_if_possible
        write = self._write_card_in_words if patient else self._write_card
        outcome = await write(writer, request, max_iters)
        result.model_calls += outcome.calls
        result.date = part.day
        if outcome.path is not None:
            result.path = outcome.path
            result.created = result.created or outcome.created
            result.modified = result.modified or outcome.modified
            result.tags = list(outcome.tags) or result.tags
            if outcome.modified and outcome.without_tags:
                result.auto_tag.append(Failure(item=outcome.path, reason=outcome.without_tags))
        answered = arguments.request if part.is_last else None
        await asyncio.to_thread(self._settle, log, part, outcome.path, answered, result)
        return outcome.calls

    def _request(
        self, arguments: DistilArguments, log: SessionLog, part: Part, session_path: str
    ) -> CardRequest:
        turns = [turn.message for turn in part.turns]
        return CardRequest(
            day=part.day,
            session_id=arguments.session_id,
            session_path=session_path,
            hint=arguments.hint,
            messages=self._shown(arguments, log, part),
            include_images=arguments.include_images,
            listed_images=tuple(kept_sources(turns)) if arguments.images_if_possible else (),
        )

    def _shown(
        self, arguments: DistilArguments, log: SessionLog, part: Part
    ) -> tuple[Message, ...]:
        messages = tuple(turn.message for turn in part.turns)
        if not arguments.include_images:
            return messages
        most = self.settings.max_image_num
        shown = with_images(
            messages, self.vault, image_folder(log), arguments.image_payloads, most_images=most
        )
        if sources_of(shown):
            refuse_blind(self.agent)
        return shown

    def _settle(
        self,
        log: SessionLog,
        part: Part,
        card: str | None,
        request: NamedRequest | None,
        result: AutoMemoryResult,
    ) -> None:
        """Write the cursor; on the last part with the name of the request and its answer."""
        through = part.turns[-1].id
        if request is None:
            written = log.mark_distilled(through, card=card)
        else:
            answer = told(result.model_copy())
            written = log.mark_distilled(
                through,
                card=card,
                request_id=request.request_id,
                fingerprint=request.fingerprint,
                result=answer.model_dump(mode="json"),
            )
        self._follow(log, written)

    def _keep_answer(
        self, log: SessionLog, request: NamedRequest, result: AutoMemoryResult
    ) -> None:
        """Note the answer of a request whose turns had been distilled before."""
        if log.answered(request.request_id) is None:
            written = log.mark_answered(
                request.request_id,
                fingerprint=request.fingerprint,
                result=result.model_dump(mode="json"),
            )
            self._follow(log, written)

    def _follow(self, log: SessionLog, written: Extension | None) -> None:
        try:
            self.vault.log_changed(log.path, written)
        except ReMeError as error:  # the cursor is durable; the next scan indexes the log
            self.failures.report("index", error)

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
            redactor=self.redactor,
        )

    async def _write_card(
        self, writer: CardWriter, request: CardRequest, max_iters: int
    ) -> CardOutcome:
        try:
            return await writer.write(request, max_iters=max_iters)
        except Conflict as error:  # a person edited the card while the agent worked: once more
            self.failures.report("auto_memory", error)
        return await writer.write(request, max_iters=max_iters)

    async def _write_card_in_words(
        self, writer: CardWriter, request: CardRequest, max_iters: int
    ) -> CardOutcome:
        """The same for work nobody waits for; images a provider refuses are only named then."""
        try:
            return await self._write_card(writer, request, max_iters)
        except ModelFailed as error:
            if not request.sources or not is_refusal(error):
                raise
            self.failures.report("auto_memory.images", error)
        blind = replace(request, include_images=False)
        outcome = await self._write_card(writer, blind, max(max_iters - 1, _FEWEST_CALLS))
        return replace(outcome, calls=outcome.calls + 1)
