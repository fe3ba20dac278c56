"""A compression of AgentScope 2.x whose summary is this library's checkpoint.

AgentScope decides when and where to cut, asks its model for a summary and applies it. For the time
of one compression the agent is given a copy of its model that answers this one question from the
memory, and asks the real model as ever when the memory cannot.
"""

from __future__ import annotations

import asyncio
import copy
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

from agentscope.agent import Agent
from agentscope.message import HintBlock, Msg
from agentscope.model import StructuredResponse

from agentscope_reme.agentscope_v2.messages import is_recalled, to_neutral
from agentscope_reme.ports import MemoryService

_FIELD: Final = "checkpoint"
_OPENING: Final = "<system-info>Here is a summary of your previous work\n"
_CLOSING: Final = "\n</system-info>"
_REMINDER: Final = re.compile(r"\s*<system-reminder>.*?</system-reminder>", re.DOTALL)


@contextmanager
def summarised_by(
    reme: MemoryService, agent: Agent, given: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """Let the memory write the summary of the compression that runs inside.

    Args:
        reme: the memory; without a model it fails, and AgentScope's own summary is made.
        agent: whose context is compressed.
        given: the arguments of the compression.

    Returns:
        The arguments to compress with.
    """
    real: Any = agent.model
    config = given.get("context_config") or agent.context_config
    wish = _words_of_hint(given.get("instructions"))

    async def generate(messages: list[Msg], structured_model: Any, **options: Any) -> Any:
        try:
            text = await _checkpoint(reme, agent, messages, wish)
            return StructuredResponse(content={_FIELD: f"{_OPENING}{text}{_CLOSING}"})
        except Exception as error:  # noqa: BLE001 - a summary of AgentScope's own is better than none
            reme.report_failure("middleware.checkpoint", error)
        response = await real.generate_structured_output(
            messages=messages, structured_model=structured_model, **options
        )
        own = config.summary_template.format(**response.content)
        return replace(response, content={_FIELD: own})

    try:
        model = copy.copy(real)
        model.generate_structured_output = generate
        plain = config.model_copy(update={"summary_template": f"{{{_FIELD}}}"})
    except Exception as error:  # noqa: BLE001 - a model of somebody else that cannot be copied
        reme.report_failure("middleware.checkpoint", error)
        yield given
        return
    agent.model = model
    try:
        yield {**given, "context_config": plain}
    finally:
        if agent.model is model:
            agent.model = real


async def _checkpoint(reme: MemoryService, agent: Agent, messages: Sequence[Msg], wish: str) -> str:
    in_context = {msg.id for msg in agent.state.context}
    leaving = [to_neutral(m) for m in messages if m.id in in_context and not is_recalled(m)]
    earlier = _bare(agent.state.summary)
    optional = {"extra_instruction": wish} if wish else {}  # not every service takes one
    summarise: Callable[..., Any] = reme.summarise
    async with asyncio.timeout(reme.settings.agent_deadline_seconds):
        return str(await summarise(leaving, previous_summary=earlier, **optional))


def _bare(summary: str | Sequence[Any]) -> str:
    """An earlier summary without what stands around it in a prompt."""
    parts = (
        summary
        if isinstance(summary, str)
        else "\n".join(str(getattr(block, "text", "")) for block in summary)
    )
    return _REMINDER.sub("", parts).removeprefix(_OPENING).removesuffix(_CLOSING).strip()


def _words_of_hint(hint: HintBlock | None) -> str:
    if hint is None:
        return ""
    if isinstance(hint.hint, str):
        return hint.hint
    return "\n".join(block.text for block in hint.hint if block.type == "text")
