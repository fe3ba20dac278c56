"""The two tools an agent gets for one target: look up what is remembered, and remember."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from agentscope_reme.messages import Message, TextBlock
from agentscope_reme.ports import Tool, ToolOutput
from agentscope_reme.tools.agent_tools import guarded
from agentscope_reme.typed.core import TypedMemory
from agentscope_reme.typed.targets import Target

_MOST: Final = 50
_LONGEST_FACT: Final = 4000


class RetrieveArguments(BaseModel):
    """What `retrieve_memory` takes."""

    model_config = ConfigDict(extra="forbid")

    query: str = Field(min_length=1, max_length=2000, description="What to look for, in words.")
    limit: int = Field(default=10, ge=1, le=_MOST, description="How many memories at most.")


class SummarizeArguments(BaseModel):
    """What `summarize_memory` takes."""

    model_config = ConfigDict(extra="forbid")

    facts: list[str] = Field(
        min_length=1,
        max_length=_MOST,
        description="What to remember, one thing each, understandable alone: who, what, when.",
    )


def target_tools(memory: TypedMemory, target: Target) -> list[Tool]:
    """The tools of one target; whose memory it is stands in them and is never a model's choice.

    Args:
        memory: the memory; it is started by the first call.
        target: the user, task or tool.
    """

    limit, report = memory.parts.settings.tool_answer_bytes, memory.parts.failures.report

    async def retrieve(asked: RetrieveArguments) -> ToolOutput:
        await memory.ready()
        found = await memory.recaller.recall(
            target, asked.query, limit=asked.limit, use_model=False
        )
        return ToolOutput(memory.recaller.shown([found], asked.query))

    async def summarize(told: SummarizeArguments) -> ToolOutput:
        facts = [fact.strip()[:_LONGEST_FACT] for fact in told.facts if fact.strip()]
        if not facts:
            return ToolOutput("Nothing was saved: `facts` holds no words.", success=False)
        kept = await memory.record(target, [_note(memory, facts)])
        memory.learn_soon(target)
        return ToolOutput("Saved." if kept.kept else "Saved already.")

    return [
        Tool(
            "retrieve_memory",
            f"Look up what is remembered about the {target} from earlier conversations.",
            RetrieveArguments,
            guarded("retrieve_memory", retrieve, limit, report),
            read_only=True,
        ),
        Tool(
            "summarize_memory",
            f"Remember facts about the {target} beyond this conversation.",
            SummarizeArguments,
            guarded("summarize_memory", summarize, limit, report),
        ),
    ]


def _note(memory: TypedMemory, facts: Sequence[str]) -> Message:
    text = "\n".join(facts)
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return Message(
        id=f"note-{digest[:32]}",  # by content: a model that repeats itself adds nothing
        role="assistant",
        name="summarize_memory",
        created_at=memory.parts.clock.now(),
        blocks=(TextBlock(text=text),),
    )
