"""What becomes of drafts: skipped, added, or an old memory updated, beside what is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from agentscope_reme.context.shortening import shorten
from agentscope_reme.messages import Message
from agentscope_reme.quoting import defuse
from agentscope_reme.runtime.budget import CallBudget
from agentscope_reme.typed.answers import LONGEST_CONTENT, Decision, Decisions, Draft, Lesson
from agentscope_reme.typed.nodes import MemoryNode
from agentscope_reme.typed.parts import Parts, ask, fitting
from agentscope_reme.typed.targets import Target
from agentscope_reme.typed.times import stamp
from agentscope_reme.typed.tool_usage import STATISTICS

SOUND: Final = 0.5
"""A lesson below this score is not kept."""

OUTCOME: Final = "outcome"
"""Metadata of a lesson: ``success`` or ``failure``."""
PREVIOUS: Final = "previous"
"""Metadata of a memory a model has updated: what it said before."""

_SHOWN_DRAFT: Final = 600  # characters of a draft in the second prompt


@dataclass(slots=True)
class Work:
    """Conversations at work, each message with the one it stands in."""

    target: Target
    conversations: Sequence[MemoryNode]
    turns: Sequence[tuple[MemoryNode, Message]]
    now: str
    added: list[MemoryNode] = field(default_factory=list)
    updated: list[MemoryNode] = field(default_factory=list)
    removed: list[MemoryNode] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    seen: dict[str, tuple[MemoryNode, Draft | None]] = field(default_factory=dict)
    """Old memories as they were when the model saw them, and the drafts they are updated by."""


class Settler:
    """Compares drafts with old memories, and lets a model decide.

    Args:
        parts: with a model.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def settle(
        self, work: Work, drafts: Sequence[Draft], budget: CallBudget, similar: int
    ) -> None:
        """Decide what becomes of the drafts; what is there word for word needs no decision.

        Args:
            work: takes what is decided.
            drafts: what a first reading found.
            budget: a call is taken from it when the model is asked.
            similar: how many old memories are shown at most.

        Raises:
            ModelFailed: nothing was decided.
        """
        drafts = list({_same(draft.content): draft for draft in reversed(drafts)}.values())[::-1]
        old = await self._similar(work.target, drafts, similar) if drafts else []
        known = {_same(node.content) for node in old}
        fresh = [draft for draft in drafts if _same(draft.content) not in known]
        if not fresh:
            return
        if not old and work.target.kind == "personal":
            work.added += [self.new(work, draft, draft.score) for draft in fresh]
            return
        old = [
            old[n] for n in fitting([_node_words(node) for node in old], self._parts.prompt_tokens)
        ]
        answer = await ask(
            self._parts,
            budget,
            Decisions,
            "decide",
            "decide_system",
            target=defuse(str(work.target)),
            drafts=defuse(_numbered([_draft_words(draft) for draft in fresh])),
            memories=defuse(_numbered([_node_words(node) for node in old])),
        )
        self._follow(work, fresh, old, {one.draft: one for one in answer.decisions})

    async def _similar(
        self, target: Target, drafts: Sequence[Draft], most: int
    ) -> list[MemoryNode]:
        queries = [draft.when_to_use or draft.content for draft in drafts]
        found = await self._parts.index.search(queries, target.where(), limit=most + 1)
        nodes = [one.node for one in found]
        return [node for node in nodes if node.metadata.get(STATISTICS) is not True][:most]

    def _follow(
        self,
        work: Work,
        drafts: Sequence[Draft],
        old: Sequence[MemoryNode],
        decisions: Mapping[int, Decision],
    ) -> None:
        free = dict(enumerate(old, 1))
        for number, draft in enumerate(drafts, 1):
            decision = decisions.get(number)
            reason = _refusal(draft, decision)
            if reason:
                work.refused.append(f"{shorten(draft.content, 200)}: {reason}")
                continue
            score = decision.score if decision is not None else draft.score
            if decision is not None and decision.action == "update":
                node = free.pop(decision.old or 0, None)  # each old memory is updated once
                if node is not None and _whole(node) and decision.content:
                    work.seen[node.memory_id] = node, draft
                    work.updated.append(self._renewed(work, node, draft, decision))
                    continue
            work.added.append(self.new(work, draft, score))

    def new(self, work: Work, draft: Draft, score: float) -> MemoryNode:
        """A draft as a memory of its own."""
        outcome = {OUTCOME: draft.outcome} if isinstance(draft, Lesson) else {}
        source, said_at = self._source(work, draft)
        return MemoryNode(
            memory_type=work.target.memory_type,
            memory_target=work.target.name,
            when_to_use=self._parts.clean(draft.when_to_use),
            content=self._parts.clean(draft.content),
            message_time=said_at,
            ref_memory_id=source.memory_id,
            time_created=work.now,
            time_modified=work.now,
            author=self._parts.author,
            score=score,
            metadata=outcome,
        )

    def _renewed(
        self, work: Work, node: MemoryNode, draft: Draft, decision: Decision
    ) -> MemoryNode:
        told = {PREVIOUS: node.content}
        source, said_at = self._source(work, draft)
        if isinstance(draft, Lesson):
            told[OUTCOME] = draft.outcome
        return node.model_copy(
            update={
                "content": self._parts.clean(decision.content),
                "message_time": max(node.message_time, said_at),
                "ref_memory_id": source.memory_id,
                "time_modified": work.now,
                "author": self._parts.author,
                "score": max(node.score, decision.score),
                "metadata": {**node.metadata, **told},
            }
        )

    def _source(self, work: Work, draft: Draft) -> tuple[MemoryNode, str]:
        """Where and when it was said, by the turn the draft names; else in the last words."""
        if not 1 <= draft.turn <= len(work.turns):
            return work.conversations[-1], work.conversations[-1].message_time
        source, message = work.turns[draft.turn - 1]
        if message.created_at is None:
            return source, source.message_time
        return source, stamp(message.created_at, self._parts.clock)


def _refusal(draft: Draft, decision: Decision | None) -> str:
    """Why a draft is not kept; empty when it is."""
    if decision is None:
        return "it was not validated" if isinstance(draft, Lesson) else ""
    if decision.action == "skip":
        return "it is known"
    if isinstance(draft, Lesson) and decision.score < SOUND:
        return f"validated with {decision.score:g}, below {SOUND:g}"
    return ""


def _same(text: str) -> str:
    """What two texts have in common that differ in case, spaces and final stops alone."""
    return " ".join(text.casefold().split()).rstrip(".!。！")


def _whole(node: MemoryNode) -> bool:
    """Whether the model saw all of it; what it saw a part of it must not replace."""
    return len(node.content) <= LONGEST_CONTENT


def _numbered(lines: Sequence[str]) -> str:
    return "\n".join(f"[{number}] {line}" for number, line in enumerate(lines, 1)) or "-"


def _draft_words(draft: Draft) -> str:
    when = f"{draft.when_to_use}: " if draft.when_to_use else ""
    outcome = f"({draft.outcome}) " if isinstance(draft, Lesson) else ""
    return f"{outcome}{when}{shorten(draft.content, _SHOWN_DRAFT)}"


def _node_words(node: MemoryNode) -> str:
    when = f"{node.when_to_use}: " if node.when_to_use else ""
    return f"{node.message_time} {when}{shorten(node.content, LONGEST_CONTENT)}".strip()
