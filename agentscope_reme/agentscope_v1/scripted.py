"""A chat model of AgentScope 1.x that says what a test wrote down."""

from __future__ import annotations

import copy
import json
from collections.abc import AsyncGenerator, Iterable, Mapping
from typing import Any

from agentscope.message import TextBlock, ThinkingBlock, ToolUseBlock
from agentscope.model import ChatModelBase, ChatResponse
from agentscope.model._model_usage import ChatUsage
from pydantic import BaseModel

from agentscope_reme.testing.script import (
    Answer,
    Request,
    Script,
    Step,
    Structured,
    Text,
    ToolCalls,
    as_script,
)

_FINISH_FUNCTION = "generate_response"  # how `ReActAgent` asks for a structured answer


class ScriptedChatModel(ChatModelBase):
    """Plays a `Script` as a 1.x model, streaming or not.

    A `Structured` step answers a structured call with its value; when `ReActAgent` asks for
    structure with its ``generate_response`` tool, the same step becomes that tool call.

    Args:
        steps: a `Script`, or its steps.
        stream: answer in accumulating chunks, as providers do.
        model_name: what the model calls itself.
        input_tokens: the reported size of every prompt.
        output_tokens: the reported size of every answer.
    """

    def __init__(
        self,
        steps: Script | Iterable[Step] = (),
        *,
        stream: bool = False,
        model_name: str = "scripted",
        input_tokens: int = 10,
        output_tokens: int = 5,
    ) -> None:
        super().__init__(model_name, stream)
        self.script = as_script(steps)
        self._tokens = (input_tokens, output_tokens)

    @property
    def requests(self) -> list[Request]:
        """Every call so far."""
        return self.script.requests

    def assert_exhausted(self) -> None:
        """Check that the whole script was played and nothing else was asked."""
        self.script.assert_exhausted()

    async def __call__(
        self,
        messages: list[dict[str, Any]],
        tools: list[dict[str, Any]] | None = None,
        tool_choice: str | None = None,
        structured_model: type[BaseModel] | None = None,
        **_: Any,
    ) -> ChatResponse | AsyncGenerator[ChatResponse, None]:
        """Answer with the next step; see `Script.answer` for what is raised."""
        answer = await self.script.answer(
            copy.deepcopy(messages),
            tools=copy.deepcopy(tools),
            tool_choice=tool_choice,
            output=structured_model,
        )
        content, metadata = _played(answer, tools, structured_model)
        usage = ChatUsage(input_tokens=self._tokens[0], output_tokens=self._tokens[1], time=0.0)
        last = ChatResponse(content=content, usage=usage, metadata=metadata)
        return _chunks(last) if self.stream else last


async def _chunks(last: ChatResponse) -> AsyncGenerator[ChatResponse, None]:
    """The answer growing: half of each text first, everything in the last chunk."""
    half = [
        TextBlock(type="text", text=block["text"][: len(block["text"]) // 2])
        for block in last.content
        if block["type"] == "text"
    ]
    if half:
        yield ChatResponse(content=half, id=last.id)
    yield last


def _played(
    answer: Answer,
    tools: list[dict[str, Any]] | None,
    structured_model: type[BaseModel] | None,
) -> tuple[list[Any], dict[str, Any] | None]:
    match answer:
        case Text():
            thinking = [ThinkingBlock(type="thinking", thinking=answer.thinking)]
            return [
                *(thinking if answer.thinking else []),
                TextBlock(type="text", text=answer.text),
            ], None
        case ToolCalls():
            text = [TextBlock(type="text", text=answer.text)] if answer.text else []
            return [*text, *(_use(call.id, call.name, call.input) for call in answer.calls)], None
        case Structured():
            value = dict(answer.value)
            if structured_model is None and _offers_finish(tools):
                return [_use("finish", _FINISH_FUNCTION, value)], None
            return [TextBlock(type="text", text=json.dumps(value, ensure_ascii=False))], value


def _use(call_id: str, name: str, arguments: Mapping[str, Any]) -> ToolUseBlock:
    return ToolUseBlock(type="tool_use", id=call_id, name=name, input=dict(arguments))


def _offers_finish(tools: list[dict[str, Any]] | None) -> bool:
    return any(tool["function"]["name"] == _FINISH_FUNCTION for tool in tools or ())
