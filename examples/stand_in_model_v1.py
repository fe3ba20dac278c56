"""The stand-in for AgentScope 1.x: rule-based, no AI."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

from agentscope.message import TextBlock, ToolUseBlock
from agentscope.model import ChatModelBase, ChatResponse
from pydantic import BaseModel
from stand_in_prompt import schemas_of, turns_of
from stand_in_rules import LABEL, Call, decide, fill


class StandInChatModel(ChatModelBase):
    """Answers by rule; reads what any formatter of an OpenAI-like shape produced."""

    def __init__(self) -> None:
        super().__init__(LABEL, stream=False)
        self._numbers = count(1)

    async def __call__(
        self,
        messages: list[dict[str, Any]],
        tools: list[dict[str, Any]] | None = None,
        tool_choice: str | None = None,
        structured_model: type[BaseModel] | None = None,
        **_: Any,
    ) -> ChatResponse:
        """Answer with text, one tool call, or the words of the prompt in a given structure."""
        turns = turns_of(messages)
        if structured_model is not None:
            value = fill(structured_model.model_json_schema(), turns[-1].text)
            text = json.dumps(value, ensure_ascii=False)
            return ChatResponse(content=[TextBlock(type="text", text=text)], metadata=value)
        step = decide(turns, schemas_of(tools))
        if isinstance(step, Call):
            use = ToolUseBlock(
                type="tool_use",
                id=f"stand-in-{next(self._numbers)}",
                name=step.tool,
                input=dict(step.arguments),
            )
            return ChatResponse(content=[use])
        return ChatResponse(content=[TextBlock(type="text", text=step.text)])
