"""One call of Auto Resource: every resource is attended to by itself, and none stops the others."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import AsyncIterator, MutableMapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final
from weakref import WeakValueDictionary

from agentscope_reme.errors import BadInput, Conflict, NotFound, ReMeError
from agentscope_reme.files.locks import resource_claim
from agentscope_reme.files.pins import is_pinned
from agentscope_reme.ports import AgentPort, prompt_budget
from agentscope_reme.results import AutoResourceResult, Failure, ResourceCard
from agentscope_reme.runtime.budget import CallBudget
from agentscope_reme.steps.card_writer import CardOutcome
from agentscope_reme.steps.context import Components
from agentscope_reme.steps.resources.absent import Absences, Missing
from agentscope_reme.steps.resources.ledger import Ledger, Reading
from agentscope_reme.steps.resources.look import Absent, Due, Onlooker, Settled, settled
from agentscope_reme.steps.resources.material import Material, material_of
from agentscope_reme.steps.resources.ownership import Cursor, cards_of
from agentscope_reme.steps.resources.parts import end_of_part
from agentscope_reme.steps.resources.pictures import Picture
from agentscope_reme.steps.resources.places import day_of
from agentscope_reme.steps.resources.writer import PartRequest, ResourceCardWriter

_LOCKS: Final = "reading resources"
_SHOWN: Final = {
    "en": {
        "picture": "the picture",
        "whole": "the whole text",
        "part": "characters {start} to {end} of {total}",
    },
    "zh": {
        "picture": "图片",
        "whole": "全文",
        "part": "第 {start} 至 {end} 个字符，共 {total} 个",
    },
}
_FEWEST_CALLS: Final = 2  # write a card, and say so
_NO_PICTURES: Final = "pictures are left out (`include_images=False`)"
_PINNED: Final = "its card is pinned"
_UNSEEN: Final = "the model, or its formatter, takes no pictures"
_SEE: Final = "Pass a vision-capable `chat_model` and formatter, or `include_images=False`."


class ResourceRun:
    """The state of one call.

    Args:
        parts: the parts of the workspace.
        shared: data all runs of the application share; holds who reads what.
        now: when the call began.
        include_images: whether pictures are shown to the model.
        named: the caller named the resources.
    """

    def __init__(
        self,
        parts: Components,
        shared: MutableMapping[str, Any],
        now: datetime.datetime,
        *,
        include_images: bool,
        named: bool,
    ) -> None:
        self.result: Final = AutoResourceResult()
        self.refused: Final[set[str]] = set()
        self.ledger: Final = Ledger(parts.workspace, parts.disk, parts.locks)
        self.absences: Final = Absences(parts, self.ledger)
        self._parts = parts
        self._now = now
        self._include_images = include_images
        self._named = named
        self._onlooker = Onlooker(parts.vault, parts.store, parts.settings, self.ledger)
        self._budget = CallBudget(parts.settings.job_model_calls)
        self._locks = shared.setdefault(_LOCKS, WeakValueDictionary())

    async def attend(self, path: str) -> None:
        """Bring the card of one resource in step; whatever goes wrong is put into the result."""
        try:
            async with self._alone(path) as mine:
                if mine:
                    await self._attend(path)
                else:
                    self.result.pending.append(path)
        except ReMeError as error:
            self.fail(path, error)

    async def attend_missing(self, missing: Missing, *, remove: bool) -> bool:
        """Let a card follow its resource to another place, or else into the trash.

        Args:
            missing: the resource that is not there.
            remove: take the card away when the resource is nowhere.

        Returns:
            Whether the card was seen to, or cannot be; false when it only was not to be removed.
        """
        try:
            return await self._attend_missing(missing, remove=remove)
        except ReMeError as error:
            self.fail(missing.resource, error)
            return True

    async def forget_all_but(self, kept: set[str]) -> None:
        """Forget resources that are gone without a card."""
        try:
            gone = [path for path in await asyncio.to_thread(self.ledger.read) if path not in kept]
            await asyncio.to_thread(self.ledger.forget, gone)
        except ReMeError as error:
            self._parts.failures.report("auto_resource", error)

    def fail(self, path: str, error: ReMeError) -> None:
        """Report what went wrong with one resource; the next call tries it again."""
        self._parts.failures.report("auto_resource", error)
        self.result.failed.append(Failure(item=path, reason=str(error)))

    def refuse(self, path: str, error: ReMeError) -> None:
        """Report a name that stands for no resource; nothing tries it again."""
        self.fail(path, error)
        self.refused.add(path)

    def skip(self, path: str, reason: str) -> None:
        """Report a file that is passed over."""
        self.result.skipped.append(Failure(item=path, reason=reason))

    async def _attend(self, path: str) -> None:
        found = await asyncio.to_thread(self._onlooker.look, path, named=self._named)
        match found:
            case Settled(pinned=""):
                self.result.unchanged += 1
                await self._note(found.reading)
            case Settled():
                self.skip(path, f"{_PINNED}: {found.pinned}")
            case Absent():
                raise NotFound(path, "the file is not there (any more)", "Check the path.")
            case Due():
                await self._read(found)

    async def _attend_missing(self, missing: Missing, *, remove: bool) -> bool:
        known = await asyncio.to_thread(self.absences.successor, missing.resource, missing.card)
        async with self._alone(missing.resource) as mine, self._alone(known or "") as both:
            if not (mine and both):
                self.result.pending.append(missing.resource)
                return True
            owners = await asyncio.to_thread(cards_of, self._parts.store, missing.resource)
            if missing.card not in owners:  # another process was faster
                return True
            if (known or remove) and is_pinned(self._parts.vault.read(missing.card)):
                self.skip(missing.resource, f"{_PINNED}: {missing.card}")
                return True
            if known is not None:
                moved = await asyncio.to_thread(
                    self.absences.follow, missing.resource, missing.card, known
                )
                self.result.cards.append(moved)
            elif remove:
                gone = await asyncio.to_thread(self.absences.remove, missing.resource, missing.card)
                self.result.cards.append(gone)
            return known is not None or remove

    async def _read(self, due: Due) -> None:
        agent = self._parts.agent
        if due.kind == "image" and not self._include_images:
            self.skip(due.path, _NO_PICTURES)
        elif agent is None or self._budget.left < _FEWEST_CALLS:
            self.result.pending.append(due.path)
        else:
            if due.kind == "image" and not agent.supports_images:
                raise BadInput(due.path, _UNSEEN, _SEE)
            material = await asyncio.to_thread(material_of, due.path, due.kind, due.data)
            try:
                await self._read_parts(due, material, agent)
            except ReMeError:
                await asyncio.to_thread(self.ledger.failed, due.path, due.sha)
                raise

    async def _read_parts(self, due: Due, material: Material, agent: AgentPort) -> None:
        writer = ResourceCardWriter(agent, self._parts)
        card, position, total = due.card, due.start(material.size), material.size
        told: ResourceCard | None = None
        while position < total:
            granted = self._budget.reserve(self._parts.settings.agent_max_iters)
            if granted < _FEWEST_CALLS:
                self._budget.give_back(granted)
                self.result.pending.append(due.path)
                return
            end = await asyncio.to_thread(self._end, material, position)
            request = self._request(due, material, position, end, card)
            outcome = await self._write(writer, request, granted)
            self._budget.give_back(granted - outcome.calls)
            self.result.model_calls += outcome.calls
            card, position = outcome.path or card, end
            told = self._tell(due, told, outcome)
            await self._note(_noted(due, card, position, total))

    def _end(self, material: Material, start: int) -> int:
        if material.picture is not None:
            return material.size
        setting = self._parts.settings.auto_memory_prompt_tokens
        budget = prompt_budget(self._parts.agent, setting)
        return end_of_part(material.text, start, budget)

    def _request(
        self, due: Due, material: Material, start: int, end: int, card: str | None
    ) -> PartRequest:
        total = material.size
        cursor = Cursor(due.sha) if end == total else Cursor(due.cursor.sha, due.sha, end, total)
        content = material.picture or material.text[start:end]
        return PartRequest(
            resource=due.path,
            day=day_of(due.path) or self._now.date().isoformat(),
            changed=_moment(due.seen.mtime_ns, self._parts.clock.zone),
            shown=self._shown(content, start, end, total),
            content=content,
            card=card,
            cursor=cursor,
        )

    def _shown(self, content: str | Picture, start: int, end: int, total: int) -> str:
        words = _SHOWN[self._parts.language]
        if isinstance(content, Picture):
            return ", ".join(filter(None, (words["picture"], content.changed)))
        if (start, end) == (0, total):
            return words["whole"]
        return words["part"].format(start=start + 1, end=end, total=total)

    async def _write(
        self, writer: ResourceCardWriter, request: PartRequest, max_iters: int
    ) -> CardOutcome:
        try:
            return await writer.write(request, max_iters=max_iters)
        except Conflict as error:  # somebody edited the card while the agent worked: once more
            self._parts.failures.report("auto_resource", error)
        return await writer.write(request, max_iters=max_iters)

    def _tell(self, due: Due, told: ResourceCard | None, outcome: CardOutcome) -> ResourceCard:
        """One entry of the result for all parts of a resource."""
        if told is None:
            told = ResourceCard(resource=due.path, action="declined")
            self.result.cards.append(told)
        if outcome.path is not None:
            told.path = outcome.path
            told.tags = list(outcome.tags)
            told.action = "created" if outcome.created or told.action == "created" else "updated"
        return told

    async def _note(self, row: Reading | None) -> None:
        """Write to the ledger; it only spares model calls, so a failure costs nothing else."""
        if row is None:
            return
        try:
            await asyncio.to_thread(self.ledger.note, row)
        except ReMeError as error:
            self._parts.failures.report("auto_resource", error)

    @asynccontextmanager
    async def _alone(self, path: str) -> AsyncIterator[bool]:
        """Whether this task of this process is the one that sees to a resource."""
        if not path:
            yield True
            return
        lock: asyncio.Lock = self._locks.setdefault(path, asyncio.Lock())
        async with lock:
            with self._parts.locks.claim(resource_claim(path)) as claimed:
                yield claimed


def by_failures(paths: Sequence[str], known: dict[str, Reading]) -> list[str]:
    """The order of a run: what kept failing comes last, so that it starves nobody."""
    return sorted(paths, key=lambda path: (known[path].failures if path in known else 0, path))


def _noted(due: Due, card: str | None, position: int, total: int) -> Reading | None:
    """What the ledger says after a part; while there is a card, that one says how far it is."""
    if position == total:
        return settled(due, card)
    return None if card else Reading(due.path, due.sha, read=position, total=total)


def _moment(mtime_ns: int, zone: datetime.tzinfo) -> str:
    try:
        moment = datetime.datetime.fromtimestamp(mtime_ns / 1e9, zone)
    except (ValueError, OverflowError, OSError):  # a file may claim any time whatever
        return "-"
    return moment.isoformat(timespec="seconds")
