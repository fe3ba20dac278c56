"""A model that is given but cannot do what a call needs is told apart from no model at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from agentscope_reme import ReMe
from agentscope_reme.errors import BadInput, ModelRequired
from agentscope_reme.messages import Message
from agentscope_reme.ports import ChatReply, StructuredReply

NO_TOOLS = "this model runs no tools (method `run`)"
SAID = [{"role": "user", "content": "The zebra escaped on Monday."}]


class ChatOnly:
    """A `ChatPort` and nothing more."""

    supports_images = False

    async def complete(self, messages: Sequence[Message]) -> ChatReply:
        return ChatReply("fine")

    async def structured(
        self, messages: Sequence[Message], output: type[Any]
    ) -> StructuredReply[Any]:
        return StructuredReply(output())


async def test_a_model_without_tools_is_named_as_what_is_missing(
    open_memory: Callable[..., ReMe],
) -> None:
    async with open_memory(ChatOnly()) as reme:
        kept = await reme.auto_memory(SAID, session_id="s")
        assert kept.pending
        assert NO_TOOLS in kept.answer
        root = reme.application.components.workspace.root
        place = root / "resource" / "2026-06-20" / "a.txt"
        place.parent.mkdir(parents=True)
        place.write_text("zebras", "utf-8")
        read = await reme.auto_resource()
        assert NO_TOOLS in read.answer
        with pytest.raises(ModelRequired) as refused:
            await reme.auto_dream()
        assert NO_TOOLS in str(refused.value)


async def test_no_model_is_still_called_no_model(open_memory: Callable[..., ReMe]) -> None:
    async with open_memory() as reme:
        kept = await reme.auto_memory(SAID, session_id="s")
        assert "there is no model" in kept.answer
        for remedy in ("`chat_model=`", "`llm`", "REME_LLM_API_KEY", "REME_LLM_MODEL_NAME"):
            assert remedy in kept.answer
        with pytest.raises(ModelRequired, match="was not given"):
            await reme.auto_dream()


def test_a_refused_model_names_the_methods_of_the_ports(open_memory: Callable[..., ReMe]) -> None:
    with pytest.raises(BadInput, match=r"`run`.*`complete` and `structured`"):
        open_memory(object())
    with pytest.raises(BadInput, match=r"`embed`.*`space_id`"):
        open_memory(embedding_model=object())


async def test_a_resource_that_does_not_exist_is_not_tried_again(
    open_memory: Callable[..., ReMe],
) -> None:
    async with open_memory() as reme:
        for name in ("nope.pdf", "resource/nope.pdf"):
            told = await reme.auto_resource([name])
            assert not told.success
            assert f"{name} failed: " in told.answer
            assert "tried again" not in told.answer
