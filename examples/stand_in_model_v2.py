"""The stand-in for AgentScope 2.x: rule-based, no AI."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

from agentscope.formatter import OpenAIChatFormatter
from agentscope.message import HintBlock, Msg, TextBlock, ToolCallBlock, ToolResultBlock
from agentscope.model import ChatModelBase, ChatResponse
from stand_in_prompt import schemas_of
from stand_in_rules import LABEL, Call, Turn, decide

from agentscope_reme.messages import RECALL_TAG


class StandInChatModel(ChatModelBase):
    """Answers by rule, reading messages as they are."""

    type = "stand-in"

    def __init__(self) -> None:
        super().__init__(
            credential=None,  # type: ignore[arg-type]  # there is nothing to log in to
            model=LABEL,
            parameters=self.Parameters(),
            stream=False,
            max_retries=0,
        )
        self.formatter = OpenAIChatFormatter()
        self._numbers = count(1)

    async def _call_api(
        self,
        model_name: str,
        messages: list[Msg],
        tools: list[dict[str, Any]] | None = None,
        tool_choice: Any = None,
        **_: Any,
    ) -> ChatResponse:
        turns = [turn for message in messages for turn in _turns(message)]
        step = decide(turns, schemas_of(tools))
        if isinstance(step, Call):
            call = ToolCallBlock(
                id=f"stand-in-{next(self._numbers)}",
                name=step.tool,
                input=json.dumps(step.arguments, ensure_ascii=False),
            )
            return ChatResponse(content=[call], is_last=True)
        return ChatResponse(content=[TextBlock(text=step.text)], is_last=True)


def _turns(message: Msg) -> list[Turn]:
    if message.role == "assistant":
        turns = [_assistant_turn(block) for block in message.content]
        return [turn for turn in turns if turn is not None]
    text = message.get_text_content() or ""
    if message.role == "system":
        return [Turn("system", text)]
    return [Turn("memory" if f"<{RECALL_TAG}" in text else "user", text)]


def _assistant_turn(block: Any) -> Turn | None:
    match block:
        case TextBlock():
            return Turn("assistant", block.text)
        case ToolCallBlock():
            return Turn("call", block.input, block.name)
        case ToolResultBlock():
            return Turn("result", _plain(block.output), block.name)
        case HintBlock() if f"<{RECALL_TAG}" in (text := _plain(block.hint)):
            return Turn("memory", text)
        case _:
            return None


def _plain(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block.text for block in content if isinstance(block, TextBlock))
