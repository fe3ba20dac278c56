"""What conversations teach about their target: drafted, compared with what is known, stored."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from agentscope_reme.context.shortening import fit_tokens, shorten
from agentscope_reme.messages import Message
from agentscope_reme.quoting import defuse
from agentscope_reme.runtime.budget import CallBudget
from agentscope_reme.typed import profile
from agentscope_reme.typed.answers import Draft, Lessons, PersonalDrafts, ProfileChange
from agentscope_reme.typed.conversations import (
    DONE,
    HINT,
    LONGEST_HINT,
    STATE,
    marked,
    messages_of,
    transcript,
)
from agentscope_reme.typed.nodes import MemoryNode
from agentscope_reme.typed.parts import Parts, ask
from agentscope_reme.typed.settling import Settler, Work
from agentscope_reme.typed.targets import Target
from agentscope_reme.typed.times import stamp


@dataclass(frozen=True, slots=True)
class Learnt:
    """What one reading brought.

    Attributes:
        added: new nodes.
        updated: nodes with another text than before.
        removed: lines of a profile that no longer hold.
        refused: drafts that were not kept, with the reason.
    """

    added: tuple[MemoryNode, ...] = ()
    updated: tuple[MemoryNode, ...] = ()
    removed: tuple[MemoryNode, ...] = ()
    refused: tuple[str, ...] = ()


class Learner:
    """Draws memories from conversations.

    Args:
        parts: with a model.
        enable_profile: keep profiles of users, too.
        capacity: lines of one profile.
    """

    def __init__(
        self, parts: Parts, *, enable_profile: bool = True, capacity: int = profile.CAPACITY
    ) -> None:
        self._parts = parts
        self._settler = Settler(parts)
        self._enable_profile = enable_profile
        self._capacity = capacity

    async def learn(
        self,
        target: Target,
        conversations: Sequence[MemoryNode],
        budget: CallBudget,
        *,
        similar: int,
    ) -> Learnt:
        """Read conversations together and store what they teach; all of it is stored at once.

        Args:
            target: whom they were kept for.
            conversations: nodes of type ``history``, one at least, oldest first.
            budget: one or two calls are taken from it.
            similar: how many old memories they are compared with at most.

        Raises:
            ModelFailed: nothing was changed.
            StorageFailed: nothing was changed.
        """
        now = stamp(self._parts.clock.now(), self._parts.clock)
        turns = await asyncio.to_thread(_turns_of, conversations)
        work = Work(target, conversations, turns, now)
        rows = await self._profile(target)
        drafts, changes = await self._read(work, rows, budget)
        await self._settler.settle(work, drafts, budget, similar)
        self._change_profile(work, rows, changes)
        await self._parts.index.put(
            [*work.added, *work.updated], last_look=lambda: self._last_look(work)
        )
        work.removed += await self._shorten_profile(target)
        return Learnt(
            tuple(work.added), tuple(work.updated), tuple(work.removed), tuple(work.refused)
        )

    async def _profile(self, target: Target) -> list[MemoryNode]:
        if not self._enable_profile:
            return []
        return await asyncio.to_thread(profile.profile_of, self._parts.index.store, target)

    async def _shorten_profile(self, target: Target) -> list[MemoryNode]:
        """Remove the lines above the capacity."""
        store = self._parts.index.store
        if not profile.beyond(await self._profile(target), self._capacity):
            return []

        def shorten_it() -> list[MemoryNode]:
            gone = profile.beyond(profile.profile_of(store, target), self._capacity)
            store.delete([line.memory_id for line in gone])
            return gone

        return await self._parts.index.change(shorten_it)

    async def _read(
        self, work: Work, rows: Sequence[MemoryNode], budget: CallBudget
    ) -> tuple[Sequence[Draft], Sequence[ProfileChange]]:
        kind = work.target.kind
        room = self._parts.prompt_tokens
        words = {
            "target": defuse(work.target.name),
            "hint": defuse(_hint_of(work.conversations)) or "-",
            "conversation": await asyncio.to_thread(
                transcript, [message for _, message in work.turns], tokens=room, numbered=True
            ),
        }
        if kind != "personal":
            found = await ask(self._parts, budget, Lessons, kind, f"{kind}_system", **words)
            return found.memories, ()
        words["profile"] = defuse(fit_tokens(profile.shown(rows), room // 2))
        told = await ask(self._parts, budget, PersonalDrafts, kind, f"{kind}_system", **words)
        return told.memories, told.profile if self._enable_profile else ()

    def _change_profile(
        self, work: Work, rows: Sequence[MemoryNode], changes: Sequence[ProfileChange]
    ) -> None:
        clean = [
            ProfileChange.model_construct(
                key=self._parts.clean(change.key), value=self._parts.clean(change.value)
            )
            for change in changes
        ]
        written, removed = profile.changed(
            rows,
            clean,
            target=work.target,
            now=work.now,
            message_time=work.conversations[-1].message_time,
            ref_memory_id=work.conversations[-1].memory_id,
            author=self._parts.author,
        )
        known = {row.memory_id: row for row in rows}
        for line in written:
            if line.memory_id in known:
                work.seen[line.memory_id] = known[line.memory_id], None
        work.added += [line for line in written if line.memory_id not in known]
        work.updated += [line for line in written if line.memory_id in known]
        work.removed += removed

    def _last_look(self, work: Work) -> list[MemoryNode]:
        read = self._give_way(work)
        # Lines go first: should it end here, the conversation still waits and takes them out again.
        if work.removed:
            self._parts.index.store.delete([line.memory_id for line in work.removed])
        return [*work.added, *work.updated, *read]

    def _give_way(self, work: Work) -> list[MemoryNode]:
        """Let what people did meanwhile stand; the conversations that are left, as read.

        A memory that was changed or deleted while the model was thinking is not updated: what was
        learnt becomes a memory of its own. Of a conversation that was deleted nothing is learnt,
        nor of one that another process has read.
        """
        store = self._parts.index.store
        there = store.get([conversation.memory_id for conversation in work.conversations])
        there = [conversation for conversation in there if conversation.metadata.get(STATE) != DONE]
        now = {node.memory_id: node for node in store.get([n.memory_id for n in work.updated])}
        kept = []
        for node in work.updated:
            before, draft = work.seen.get(node.memory_id, (None, None))
            if now.get(node.memory_id) == before:
                kept.append(node)
            elif draft is not None:
                work.added.append(self._settler.new(work, draft, draft.score))
        left = {conversation.memory_id for conversation in there}
        still = store.get([row.memory_id for row in work.removed]) if left else []
        work.removed = [row for row in work.removed if row in still]
        work.updated = [node for node in kept if node.ref_memory_id in left]
        work.added = [node for node in work.added if node.ref_memory_id in left]
        return [marked(conversation, **{STATE: DONE}) for conversation in there]


def _turns_of(conversations: Sequence[MemoryNode]) -> list[tuple[MemoryNode, Message]]:
    return [(one, message) for one in conversations for message in messages_of(one)]


def _hint_of(conversations: Sequence[MemoryNode]) -> str:
    hints = (str(one.metadata.get(HINT, "")) for one in conversations)
    return shorten("\n".join(dict.fromkeys(hint for hint in hints if hint)), LONGEST_HINT)
