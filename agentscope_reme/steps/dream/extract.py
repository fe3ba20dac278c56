"""Extract: changed daily files become units of memory and candidates for topics."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from agentscope_reme.context.tokens import estimate_tokens
from agentscope_reme.errors import ModelFailed, ModelRequired
from agentscope_reme.files.dream_progress import DreamState, ReadFile, WaitingUnit
from agentscope_reme.messages import Message, TextBlock
from agentscope_reme.ports import ChatPort, prompt_budget
from agentscope_reme.quoting import defuse
from agentscope_reme.results import DreamResult, Failure
from agentscope_reme.steps.base import BaseStep, Ref
from agentscope_reme.steps.dream.material import (
    DailyFile,
    Part,
    candidates,
    failed_progress,
    last_dreamt,
    packed,
    progress,
    read_daily,
    unread,
    window,
)
from agentscope_reme.steps.dream.prompts import load_prompt
from agentscope_reme.steps.dream.recovery import settle_prepared
from agentscope_reme.steps.dream.run import DreamRun, dream_run, uninterrupted
from agentscope_reme.steps.dream.units import Extraction, ProposedUnit, TopicCandidate, unit_of
from agentscope_reme.tools.answer_limit import one_line

_FEWEST_TOKENS: Final = 400
"""Of the notes a dream reads at least, however small the model's window is: it must get on."""
_CALLS: Final = 3  # an extraction needs no tools: one call, and what a line adds for the form


class ExtractArguments(BaseModel):
    """What an extraction reads from its run; see `ReMe.auto_dream`."""

    model_config = ConfigDict(frozen=True)

    date: datetime.date | None = None
    hint: str = Field(default="", max_length=2000)
    scan_days: int = Field(default=2, ge=1, le=3660)
    max_units: int = Field(default=5, ge=1, le=100)
    dry_run: bool = False


class DreamExtractStep(BaseStep[DreamResult]):
    """Reads what is new in the daily files and asks a model, once, what of it lasts.

    What it brings is durable before anything is built on it: units above `max_units` wait, and so
    do files that did not fit into the prompt. Files whose reading failed are read again by the
    next run, however old they are. While units of earlier runs fill this one, nothing new is read.
    """

    vault = Ref(lambda parts: parts.vault)
    settings = Ref(lambda parts: parts.settings)
    language = Ref(lambda parts: parts.language)
    chat = Ref(lambda parts: parts.chat)
    agent = Ref(lambda parts: parts.agent)
    failures = Ref(lambda parts: parts.failures)
    redactor = Ref(lambda parts: parts.redactor)

    async def execute(self) -> DreamResult:
        """Read the daily files of the run; a model that fails is reported, not raised.

        Raises:
            BadInput: an argument is out of range.
            ModelRequired: something is to be read and there is no model.
        """
        arguments = self.context.parse(ExtractArguments)
        day = (arguments.date or self.context.now.date()).isoformat()
        run = await asyncio.to_thread(dream_run, self.context, day=day, dry_run=arguments.dry_run)
        await asyncio.to_thread(settle_prepared, self.vault, run)
        changed, gone = await asyncio.to_thread(self._look, run, arguments.scan_days)
        await asyncio.to_thread(self._drop_orphans, run, gone)
        parts = await asyncio.to_thread(self._packed, run, arguments, changed)
        if parts:
            await self._read(run, arguments, parts, changed)
        else:
            await asyncio.to_thread(self._note, run, progress([], changed, run.state), [], [], [])
        run.chosen = _first(run.state, arguments.max_units)
        return run.result()

    def _look(self, run: DreamRun, scan_days: int) -> tuple[list[DailyFile], list[str]]:
        days = window(run.day, scan_days, last_dreamt(run.state, run.day))
        found, gone = [], []
        for path in candidates(self.vault, days, run.state):
            file = read_daily(self.vault, path)
            if file is not None:
                found.append(file)
            elif path in run.state.files:
                gone.append(path)
        return unread(found, run.state), gone

    def _drop_orphans(self, run: DreamRun, gone: Sequence[str]) -> None:
        """Owe nothing for files the person took away, or emptied."""
        orphans, thinned = [], []
        for unit in run.state.units.values():
            left = tuple(path for path in unit.paths if read_daily(self.vault, path) is not None)
            if not left:
                orphans.append(unit.id)
            elif left != unit.paths:
                thinned.append(replace(unit, paths=left))
        if gone or orphans or thinned:
            self._note(run, {}, thinned, orphans, [], gone)

    def _packed(
        self, run: DreamRun, arguments: ExtractArguments, changed: Sequence[DailyFile]
    ) -> list[Part]:
        """What to read now: nothing while units that were not tried yet fill the run."""
        untried = [unit for unit in run.state.units.values() if unit.attempts == 0]
        if len(untried) >= arguments.max_units:
            return []
        words = self._prompt(arguments, "")
        fixed = sum(estimate_tokens(message.text) for message in words)
        budget = prompt_budget(self.agent, self.settings.dream_prompt_tokens)
        return packed(changed, run.state, max(budget - fixed, _FEWEST_TOKENS))

    async def _read(
        self,
        run: DreamRun,
        arguments: ExtractArguments,
        parts: Sequence[Part],
        changed: Sequence[DailyFile],
    ) -> None:
        shown = "\n\n".join(part.shown() for part in parts)
        run.read = {part.file.path: part.file.text for part in parts}
        try:
            found = await self._ask(run, self._prompt(arguments, shown))
        except ModelFailed as error:
            self.failures.report("auto_dream", error)
            run.failed += [Failure(item=part.file.path, reason=str(error)) for part in parts]
            noted = progress([], changed, run.state)
            noted |= failed_progress(parts, run.state.files)
            await asyncio.to_thread(self._note, run, noted, [], [], [])
            return
        await uninterrupted(lambda: self._keep(run, found, parts, changed))

    async def _ask(self, run: DreamRun, messages: Sequence[Message]) -> Extraction:
        run.agent_runs += 1
        if self.chat is not None:
            run.budget.reserve(1)
            run.model_calls += 1
            return await self._asked_in_time(self.chat, messages)
        if self.agent is None:
            raise ModelRequired("auto_dream")
        granted = run.budget.reserve(_CALLS)
        system, *asked = messages
        made = await self.agent.run(
            system.text,
            asked,
            [],
            Extraction,
            max_iters=max(1, granted),
            deadline=self.settings.agent_deadline_seconds,
        )
        run.model_calls += made.calls
        if made.output is None:
            raise ModelFailed(made.text, "the model gave no units", "It is asked again next time.")
        return made.output

    async def _asked_in_time(self, chat: ChatPort, messages: Sequence[Message]) -> Extraction:
        seconds = self.settings.agent_deadline_seconds
        try:
            async with asyncio.timeout(seconds):
                return (await chat.structured(messages, Extraction)).value
        except TimeoutError as error:
            raise ModelFailed(
                "extraction", f"no answer after {seconds} seconds", "It is asked again next time."
            ) from error

    def _prompt(self, arguments: ExtractArguments, notes: str) -> list[Message]:
        system = load_prompt("dream_extract_system", self.language).template
        asked = load_prompt("dream_extract", self.language).substitute(
            most=arguments.max_units, hint=defuse(arguments.hint) or "-", notes=notes
        )
        return [
            Message(role="system", name="system", blocks=(TextBlock(text=system),)),
            Message(role="user", name="user", blocks=(TextBlock(text=asked),)),
        ]

    def _keep(
        self,
        run: DreamRun,
        found: Extraction,
        parts: Sequence[Part],
        changed: Sequence[DailyFile],
    ) -> None:
        files = {part.file.path: part.file for part in parts}
        units: list[WaitingUnit] = []
        refused = list(found.refused)
        for proposed in found.units:
            paths = _known(proposed.paths, files)
            if paths:
                units.append(self._unit(proposed, paths, files))
            else:
                refused.append(f"{one_line(proposed.name)} names none of the notes it was given")
        noted = progress(parts, changed, run.state)
        if refused:
            noted |= self._unread_again(run, parts, units, refused)
        topics = [topic for topic in (self._topic(t, files) for t in found.topics) if topic]
        self._note(run, noted, units, _superseded(run.state, parts), topics)

    def _unread_again(
        self,
        run: DreamRun,
        parts: Sequence[Part],
        units: Sequence[WaitingUnit],
        refused: Sequence[str],
    ) -> dict[str, ReadFile]:
        """A refused unit may have spoken of any file: all are read again, once.

        After that only those no accepted unit speaks of: a model that always errs in the same way
        must not have everything done again for ever.
        """
        known = run.state.files
        covered = {path for unit in units for path in unit.paths}
        covered &= {path for path, file in known.items() if file.attempts}
        left = [part for part in parts if part.file.path not in covered]
        reason = f"a unit could not be used: {'; '.join(refused[:3])}"
        self.failures.report("auto_dream", ModelFailed(refused[0], "not a unit", "It is redone."))
        run.failed += [Failure(item=part.file.path, reason=reason) for part in left or parts]
        return failed_progress(left, known)

    def _unit(
        self, proposed: ProposedUnit, paths: tuple[str, ...], files: dict[str, DailyFile]
    ) -> WaitingUnit:
        clean = proposed.model_copy(
            update={"name": self._clean(proposed.name), "summary": self._clean(proposed.summary)}
        )
        return unit_of(clean, paths, tuple(files[path].content_hash for path in paths))

    def _topic(
        self, topic: TopicCandidate, files: dict[str, DailyFile]
    ) -> dict[str, object] | None:
        only = tuple(files) if len(files) == 1 else ()
        paths = _known(topic.paths, files) if topic.paths else only
        if not paths:
            return None
        return {
            "title": self._clean(topic.title),
            "reason": self._clean(topic.reason),
            "evidence": self._clean(topic.evidence),
            "keywords": [self._clean(word) for word in topic.keywords],
            "paths": list(paths),
        }

    def _clean(self, text: str) -> str:
        if self.settings.redact == "allow":
            return text
        return self.redactor.redact(text).text

    def _note(
        self,
        run: DreamRun,
        files: dict[str, ReadFile],
        units: Sequence[WaitingUnit],
        dropped: Sequence[str],
        topics: Sequence[dict[str, object]],
        gone: Sequence[str] = (),
    ) -> None:
        """Progress to the checkpoint, and to what this run knows of it."""
        if not run.dry_run:
            run.checkpoint.note_read(files, units, gone=gone, dropped=dropped, topics=topics)
        state = run.state
        for path in gone:
            state.files.pop(path, None)
        for name in dropped:
            state.units.pop(name, None)
        state.files.update(files)
        state.units.update({unit.id: unit for unit in units})
        state.topics += topics


def _known(paths: Sequence[str], files: dict[str, DailyFile]) -> tuple[str, ...]:
    """Paths as they were given to the model, however it decorated them; others are left out."""
    bare = (path.strip().removeprefix("[[").removesuffix("]]").removeprefix("./") for path in paths)
    return tuple(dict.fromkeys(path for path in bare if path in files))


def _superseded(state: DreamState, parts: Sequence[Part]) -> list[str]:
    """Waiting units that come from these files alone: they have just been read anew."""
    anew = {part.file.path for part in parts if part.start == 0}
    return [unit.id for unit in state.units.values() if set(unit.paths) <= anew]


def _first(state: DreamState, most: int) -> list[WaitingUnit]:
    """The units to work on now: what failed least often first, then what has waited longest."""
    return sorted(state.units.values(), key=lambda unit: unit.attempts)[:most]
