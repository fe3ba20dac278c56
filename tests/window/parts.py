"""A writer of checkpoints, and agents whose window is watched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentscope.agent import ReActAgent
from agentscope.formatter import OpenAIChatFormatter
from agentscope.memory import MemoryBase
from agentscope.message import Msg
from agentscope.tool import Toolkit

from agentscope_reme.agentscope_v1.scripted import ScriptedChatModel
from agentscope_reme.messages import Message
from agentscope_reme.ports import ChatReply, StructuredReply

CHECKPOINT = "## Goal\nTea.\n\n## Progress\nCake.\n\n## Next Steps\n1. Eat."
WORDS = "many words about tea and cake and more "
LONG = WORDS * 10


@dataclass
class Writer:
    """Answers what was written down, then always the last of it; keeps what it was asked."""

    answers: list[str | Exception | Callable[[], None]] = field(
        default_factory=lambda: [CHECKPOINT]
    )
    asked: list[str] = field(default_factory=list)
    supports_images: bool = False

    async def complete(self, messages: Sequence[Message]) -> ChatReply:
        self.asked.append(messages[-1].text)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        if callable(answer):
            answer()
            answer = CHECKPOINT
        return ChatReply(answer)

    async def structured(self, messages: Sequence[Message], output: Any) -> StructuredReply[Any]:
        raise AssertionError("not asked")


def friday(
    memory: MemoryBase | None = None,
    steps: Sequence[Any] = (),
    *,
    sys_prompt: str = "You help.",
    toolkit: Toolkit | None = None,
    input_tokens: int = 10,
    **options: Any,
) -> tuple[ReActAgent, ScriptedChatModel, list[str]]:
    """An agent, its model, and everything it prints about compaction."""
    model = ScriptedChatModel(list(steps), input_tokens=input_tokens)
    agent = ReActAgent(
        "Friday",
        sys_prompt,
        model,
        OpenAIChatFormatter(),
        memory=memory,
        toolkit=toolkit,
        **options,
    )
    printed: list[str] = []

    def listen(_: ReActAgent, kwargs: dict[str, Any]) -> None:
        text = kwargs["msg"].get_text_content() or ""
        if "ompaction" in text or text.startswith(("Kept ", "保留")):
            printed.append(text)

    agent.register_instance_hook("pre_print", "listen", listen)
    return agent, model, printed


async def talk(agent: ReActAgent, turns: int = 3) -> list[Msg]:
    """Put a conversation into the agent's memory."""
    said = []
    for n in range(turns):
        said.append(Msg("user", f"question {n} {LONG}", "user"))
        said.append(Msg("Friday", f"answer {n} {LONG}", "assistant"))
    await agent.memory.add(said)
    return said


def call(number: int, **given: Any) -> Msg:
    use = {"type": "tool_use", "id": f"c{number}", "name": "shell", "input": given}
    return Msg("Friday", [use], "assistant")


def answer(number: int, output: Any) -> Msg:
    block = {"type": "tool_result", "id": f"c{number}", "name": "shell", "output": output}
    return Msg("system", [block], "system")
