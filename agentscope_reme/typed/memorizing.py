"""From conversations to memories: kept first, then drawn from; what fails waits and is not lost."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final
from weakref import WeakValueDictionary

from agentscope_reme.context.tokens import estimate_messages_tokens
from agentscope_reme.errors import Closed, ModelFailed
from agentscope_reme.messages import Message, whole_characters
from agentscope_reme.runtime.budget import CallBudget
from agentscope_reme.tools.answer_limit import bullets, counted
from agentscope_reme.typed.conversations import (
    ATTEMPTS,
    PENDING,
    STATE,
    known_keys,
    marked,
    messages_of,
    new_conversations,
    spoken,
)
from agentscope_reme.typed.learning import Learner, Learnt
from agentscope_reme.typed.nodes import MemoryNode
from agentscope_reme.typed.parts import Parts
from agentscope_reme.typed.targets import Target
from agentscope_reme.typed.times import stamp
from agentscope_reme.typed.tool_usage import STATISTICS, statistics_node, usage_of

LOOKED_AT: Final = 1000
"""How many conversations of a target, the newest, are searched for messages that come again."""
SIMILAR: Final = 20
"""How many old memories new ones are compared with, unless the caller says otherwise."""
_REMEMBERED: Final = 256  # targets whose messages are known without asking the store

_CALL: Final = "Start the memory again and repeat the call."
_WAITS: Final = "It is kept and waits: the next call for this target reads it."

_IN_VAIN: Final = 2  # failures in a row after which a model is left alone for this call


@dataclass(slots=True)
class Memorized:
    """What became of a conversation.

    Attributes:
        kept: conversations that were stored now, one or more per target.
        learnt: what the conversations brought, these and earlier ones that had waited.
        statistics: counts of tools that changed.
        pending: how many conversations of these targets still wait.
        failed: why, in words.
    """

    kept: list[MemoryNode] = field(default_factory=list)
    learnt: list[Learnt] = field(default_factory=list)
    statistics: list[MemoryNode] = field(default_factory=list)
    pending: int = 0
    failed: list[str] = field(default_factory=list)

    @property
    def nodes(self) -> list[MemoryNode]:
        """Every memory that was written, each once, as it is now."""
        written = [node for one in self.learnt for node in (*one.added, *one.updated)]
        return list({node.memory_id: node for node in (*written, *self.statistics)}.values())

    @property
    def done(self) -> list[dict[str, str]]:
        """What was done to which memory, in order."""
        told = [
            (call, node) for one in self.learnt for call, nodes in _calls(one) for node in nodes
        ]
        told += [("update_memory", node) for node in self.statistics]
        return [{"name": call, "memory_id": node.memory_id} for call, node in told]

    @property
    def answer(self) -> str:
        """All of it in words."""
        added = sum(len(one.added) for one in self.learnt)
        updated = sum(len(one.updated) for one in self.learnt) + len(self.statistics)
        refused = [why for one in self.learnt for why in one.refused]
        told = [f"{counted(added, 'memory', 'memories')} added, {updated} updated."]
        if self.pending:
            told.append(
                f"{counted(self.pending, 'conversation')} kept, but not read to the end yet: "
                "call again when a model is there."
            )
        if refused:
            told.append(f"Not kept:\n{bullets(refused)}")
        return "\n".join((*told, *self.failed))


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of the conversations of a target: how many there are, and their messages."""

    conversations: int
    keys: frozenset[str]


class Memorizer:
    """Keeps conversations and lets a `Learner` draw from them.

    One call at a time reads conversations of a target; keeping one never waits for that. In several
    processes on one store two may read one conversation at once; what the second one found in it is
    let go.

    Args:
        parts: what it works with.
        learner: draws memories from conversations.
    """

    def __init__(self, parts: Parts, learner: Learner) -> None:
        self._parts = parts
        self._learner = learner
        self._keeping: WeakValueDictionary[Target, asyncio.Lock] = WeakValueDictionary()
        self._reading: WeakValueDictionary[Target, asyncio.Lock] = WeakValueDictionary()
        self._known: OrderedDict[Target, _Known] = OrderedDict()

    async def memorize(
        self,
        targets: Sequence[Target],
        messages: Sequence[Message],
        *,
        hint: str = "",
        similar: int = SIMILAR,
    ) -> Memorized:
        """Keep a conversation for every target, then draw from all that waits.

        Args:
            targets: whom it is about.
            messages: oldest first; what was kept before is not kept again.
            hint: words that go along with it for the model.
            similar: how many old memories are compared at most.

        Raises:
            Closed: the memory was closed meanwhile; it says whether the conversation was kept.
            StorageFailed: the conversation could not be kept.
        """
        result = Memorized()
        try:
            for target in targets:
                await self.keep(target, messages, into=result, hint=hint)
        except Closed as error:
            raise Closed(str(target), "closed before the conversation was kept", _CALL) from error
        budget = CallBudget(self._parts.settings.job_model_calls)
        try:
            for target in targets:
                await self.catch_up(target, budget, into=result, similar=similar)
        except Closed as error:
            raise Closed(str(target), "closed while the conversation was read", _WAITS) from error
        return result

    async def keep(
        self, target: Target, messages: Sequence[Message], *, into: Memorized, hint: str = ""
    ) -> None:
        """Store what is new of a conversation, durably and before any model is asked.

        Raises:
            StorageFailed: nothing was stored.
        """
        async with self._keeping.setdefault(target, asyncio.Lock()):
            kept = await asyncio.to_thread(self._new, target, messages, hint)
            if not kept:
                return
            counts: list[MemoryNode] = []
            there = self._known.get(target)

            def last_look() -> list[MemoryNode]:
                self._known_of(target)
                if self._known.get(target) is not there:  # another process was quicker
                    kept[:] = self._new(target, messages, hint)
                counts[:] = self._counted(target, kept)
                return [*kept, *counts]

            await self._parts.index.put(kept, at_once=False, last_look=last_look)
            if known := self._known.get(target):
                self._known[target] = _Known(
                    known.conversations + len(kept), known.keys | known_keys(kept)
                )
            into.kept += kept
            into.statistics += counts

    async def catch_up(
        self, target: Target, budget: CallBudget, *, into: Memorized, similar: int = SIMILAR
    ) -> None:
        """Draw from the conversations of a target that wait: what failed least often first.

        Short ones are read together; one that failed is read alone from then on.
        """
        async with self._reading.setdefault(target, asyncio.Lock()):
            in_vain = 0
            groups = await asyncio.to_thread(self._grouped, target)
            for group in groups if self._parts.chat is not None else ():
                if budget.left < 1 or in_vain == _IN_VAIN:
                    break
                try:
                    learnt = await self._learner.learn(target, group, budget, similar=similar)
                    into.learnt.append(learnt)
                    in_vain = 0
                except ModelFailed as error:
                    in_vain += 1
                    into.failed.append(str(error))
                    self._parts.failures.report("summarize_memory", error)
                    await self._note_failure(group)
            into.pending += len(await asyncio.to_thread(self._waiting, target))

    def forget_known(self) -> None:
        """Ask the store again which messages it has: something was deleted."""
        self._known.clear()

    def _new(self, target: Target, messages: Sequence[Message], hint: str) -> list[MemoryNode]:
        user = target.name if target.kind == "personal" else ""
        said = spoken(messages, user)
        if not said:
            return []
        return new_conversations(
            target,
            said,
            self._known_of(target),
            clock=self._parts.clock,
            now=self._parts.clock.now(),
            part_tokens=self._parts.prompt_tokens,
            hint=whole_characters(hint),
        )

    def _known_of(self, target: Target) -> frozenset[str]:
        """The keys of what is kept; read anew when another process kept or deleted something."""
        store, where = self._parts.index.store, target.conversations()
        there = store.count(where)
        known = self._known.get(target)
        if known is None or known.conversations != there:
            recent = store.list(where, limit=LOOKED_AT)
            known = self._known[target] = _Known(there, frozenset(known_keys(recent)))
        self._known.move_to_end(target)
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return known.keys

    def _counted(self, target: Target, kept: Sequence[MemoryNode]) -> list[MemoryNode]:
        """The statistics of a tool with the use in these conversations added; none without use."""
        if target.kind != "tool":
            return []
        clock, now = self._parts.clock, self._parts.clock.now()
        said = [message for node in kept for message in messages_of(node)]
        usage = usage_of(said, target.name, clock=clock, now=now)
        if usage.calls + usage.successes + usage.failures == 0:
            return []
        where = target.where(equal={STATISTICS: True})
        earlier = next(iter(self._parts.index.store.list(where, limit=1)), None)
        return [statistics_node(target.name, usage, earlier, stamp(now, clock))]

    def _waiting(self, target: Target) -> list[MemoryNode]:
        where = target.conversations(**{STATE: PENDING})
        found = self._parts.index.store.list(where, sort_key="message_time", reverse=False)
        return sorted(found, key=_attempts)

    def _grouped(self, target: Target) -> list[list[MemoryNode]]:
        """What is read together: as much as one prompt holds, in the order of `_waiting`."""
        groups: list[list[MemoryNode]] = []
        room = 0
        for conversation in self._waiting(target):
            cost = estimate_messages_tokens(messages_of(conversation))
            alone = _attempts(conversation) > 0
            if alone or cost > room:
                groups.append([])
                room = self._parts.prompt_tokens
            groups[-1].append(conversation)
            room = 0 if alone else room - cost
        return groups

    async def _note_failure(self, conversations: Sequence[MemoryNode]) -> None:
        def last_look() -> list[MemoryNode]:
            there = self._parts.index.store.get([one.memory_id for one in conversations])
            return [marked(one, **{ATTEMPTS: _attempts(one) + 1}) for one in there]

        await self._parts.index.put([], last_look=last_look)


def _attempts(conversation: MemoryNode) -> int:
    value = conversation.metadata.get(ATTEMPTS, 0)
    return int(value) if isinstance(value, int | float) else 0


def _calls(learnt: Learnt) -> list[tuple[str, tuple[MemoryNode, ...]]]:
    return [
        ("add_memory", learnt.added),
        ("update_memory", learnt.updated),
        ("delete_memory", learnt.removed),
    ]
