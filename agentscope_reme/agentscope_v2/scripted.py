"""A chat model with a script, for tests of AgentScope 2.x applications."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from typing import Any, Final

from agentscope.credential import CredentialBase
from agentscope.formatter import OpenAIChatFormatter
from agentscope.message import Msg, TextBlock, ThinkingBlock, ToolCallBlock
from agentscope.model import ChatModelBase, ChatResponse, ChatUsage, StructuredResponse
from agentscope.tool import ToolChoice
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

# The functions through which AgentScope 2.x asks a model, and an agent, for structured output.
_STRUCTURED: Final = ("generate_structured_output", "GenerateStructuredOutput")

# Named here because `type` means something else inside an AgentScope model class.
_Schema = type[BaseModel] | dict[str, Any]


class ScriptedChatModel(ChatModelBase):
    """Answers from a `Script`; a call the script does not know raises `UnscriptedCall`.

    Args:
        steps: the script, or its steps; see `agentscope_reme.testing.script`.
        stream: answer in deltas, as a streaming provider does.
        context_size: the window in tokens; small values make an agent compress its context.
        formatter: what the agent believes the provider can take; by default text, images, audio
            and PDF.
        model_name: what the model calls itself.
        input_tokens: the usage each call reports.
        output_tokens: the same for the answer.
    """

    type = "scripted"

    def __init__(
        self,
        steps: Script | Iterable[Step] = (),
        *,
        stream: bool = False,
        context_size: int = 32768,
        formatter: Any = None,
        model_name: str = "scripted",
        input_tokens: int = 10,
        output_tokens: int = 5,
    ) -> None:
        super().__init__(
            credential=CredentialBase(),
            model=model_name,
            parameters=self.Parameters(),
            stream=stream,
            max_retries=0,
            retry_delay=0.0,
            context_size=context_size,
        )
        self.formatter = formatter or OpenAIChatFormatter()
        self.script = as_script(steps)
        self._usage = (input_tokens, output_tokens)

    @property
    def requests(self) -> list[Request]:
        """Every call so far, as the model received it."""
        return self.script.requests

    def assert_exhausted(self) -> None:
        """Check that the whole script was played and nothing else was asked."""
        self.script.assert_exhausted()

    async def generate_structured_output(
        self,
        messages: list[Msg],
        structured_model: _Schema,
        **kwargs: Any,
    ) -> StructuredResponse:
        """One scripted step per structured call: no second strategy after a wrong answer."""
        kwargs.setdefault("tool_choice", ToolChoice(mode=_STRUCTURED[0]))
        return await super().generate_structured_output(messages, structured_model, **kwargs)

    async def _call_api(
        self,
        model_name: str,
        messages: list[Msg],
        tools: list[dict[str, Any]] | None = None,
        tool_choice: ToolChoice | None = None,
        **kwargs: Any,
    ) -> ChatResponse | AsyncGenerator[ChatResponse, None]:
        function = _structured_function(tools or ())
        answer = await self.script.answer(
            [message.model_copy(deep=True) for message in messages],
            tools=tools,
            tool_choice=tool_choice,
            output=function["parameters"] if function else None,
        )
        name = str(function["name"]) if function else ""
        blocks = _blocks(answer, name, len(self.requests))
        return self._deltas(blocks) if self.stream else self._whole(blocks)

    def _whole(self, blocks: Sequence[Any]) -> ChatResponse:
        usage = ChatUsage(input_tokens=self._usage[0], output_tokens=self._usage[1], time=0.0)
        return ChatResponse(content=list(blocks), is_last=True, usage=usage)

    async def _deltas(self, blocks: Sequence[Any]) -> AsyncGenerator[ChatResponse, None]:
        for block in blocks:
            for part in _in_two(block):
                yield ChatResponse(content=[part], is_last=False)
        yield self._whole([block.model_copy(deep=True) for block in blocks])


def _structured_function(tools: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    functions = (tool["function"] for tool in tools)
    return next((f for f in functions if f["name"] in _STRUCTURED), None)


def _blocks(answer: Answer, structured_name: str, number: int) -> list[Any]:
    match answer:
        case Text():
            thinking = [ThinkingBlock(thinking=answer.thinking)] if answer.thinking else []
            return [*thinking, TextBlock(text=answer.text)]
        case ToolCalls():
            spoken = [TextBlock(text=answer.text)] if answer.text else []
            calls = [
                ToolCallBlock(id=call.id, name=call.name, input=_as_json(call.input))
                for call in answer.calls
            ]
            return [*spoken, *calls]
        case Structured() if structured_name:
            call = ToolCallBlock(
                id=f"structured-{number}", name=structured_name, input=_as_json(answer.value)
            )
            return [call]
        case Structured():
            return [TextBlock(text=_as_json(answer.value))]


def _in_two(block: Any) -> list[Any]:
    field = {"text": "text", "thinking": "thinking", "tool_call": "input"}[block.type]
    content = str(getattr(block, field))
    middle = len(content) // 2
    halves = [content[:middle], content[middle:]] if middle else [content]
    return [block.model_copy(update={field: half}) for half in halves]


def _as_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
