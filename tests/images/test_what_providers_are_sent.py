"""The payload AgentScope's own models and formatters send, block by block, over a real socket."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agentscope_reme import ReMe
from agentscope_reme.agentscope_line import installed_line
from tests.images.models import dashscope, formatter, openai
from tests.images.parts import DIAGRAM, PIXEL, SHOWN, TALK, WEB, WRITE
from tests.loopback import LoopbackProvider, Request

pytestmark = pytest.mark.usefixtures("dashscope_address")
LINE = installed_line()
NATIVE = LINE == 1  # how DashScope is spoken to: its own protocol, or the OpenAI one

streaming = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])


def text(words: str, *, native: bool) -> dict[str, Any]:
    return {"text": words} if native else {"type": "text", "text": words}


def image(url: str, *, native: bool) -> dict[str, Any]:
    return {"image": url} if native else {"type": "image_url", "image_url": {"url": url}}


def expected(head: str, tail: str, *, native: bool) -> list[dict[str, Any]]:
    """The one user message: the head of the prompt, the conversation, the end of the prompt."""
    first, picture, between, address, last = SHOWN
    return [
        text(head + first, native=native),
        image(picture, native=native),
        text(between, native=native),
        image(address, native=native),
        text(last + tail, native=native),
    ]


HEAD = (
    "Day: 2026-06-18\nSession: a\nHint: -\n\n"
    "There is no card for this session and day yet. If something is worth keeping, call "
    "`daily_write`\nexactly once with `name`, `description`, `content` (Markdown, without "
    'front matter) and\n`metadata` {"memory_tags": [...]}.\n\n<conversation>\n'
)
TAIL = "\n</conversation>"


async def remembered(
    provider: LoopbackProvider, open_memory: Callable[..., ReMe], model: Any, **options: Any
) -> Request:
    """The first request of a run that keeps the conversation in a card."""
    provider.reply(tool_calls=[(WRITE.name, WRITE.input)]).reply("Recorded.")
    async with open_memory(model, **options) as reme:
        result = await reme.auto_memory(TALK, session_id="a", include_images=True)
        card = (reme.workspace.root / str(result.path)).read_text("utf-8")
    assert (result.success, result.images) == (True, [DIAGRAM, WEB])
    assert f"[[{DIAGRAM}]]" in card
    first, second = provider.chats
    assert second.images == first.images  # still in place when the tool has answered
    return first


def conversation(request: Request) -> list[dict[str, Any]]:
    system, user = request.messages
    assert (system["role"], user["role"]) == ("system", "user")
    assert "Put the source of the image into the same sentence" in str(system["content"])
    content: list[dict[str, Any]] = user["content"]
    return content


@streaming
async def test_openai(
    provider: LoopbackProvider, open_memory: Callable[..., ReMe], stream: bool
) -> None:
    request = await remembered(provider, open_memory, openai(provider, stream=stream))

    assert request.route == "openai-chat"
    wanted = expected(HEAD, TAIL, native=False)
    assert conversation(request) == wanted


@streaming
async def test_dashscope(
    provider: LoopbackProvider, open_memory: Callable[..., ReMe], stream: bool
) -> None:
    request = await remembered(provider, open_memory, dashscope(provider, stream=stream))

    assert request.route == ("dashscope-multimodal" if NATIVE else "openai-chat")
    wanted = expected(HEAD, TAIL, native=NATIVE)
    assert conversation(request) == wanted


@pytest.mark.parametrize(
    ("make", "name"),
    [(openai, "OpenAIMultiAgentFormatter"), (dashscope, "DashScopeMultiAgentFormatter")],
)
async def test_formatters_for_several_agents_keep_the_order(
    provider: LoopbackProvider, open_memory: Callable[..., ReMe], make: Any, name: str
) -> None:
    options = {"formatter": formatter(name)}
    request = await remembered(provider, open_memory, make(provider), **options)

    wanted = expected(HEAD, TAIL, native=NATIVE and make is dashscope)
    assert conversation(request) == wanted


@pytest.mark.parametrize("make", [openai, dashscope])
async def test_a_provider_that_refuses_images_is_not_asked_again_in_words(
    provider: LoopbackProvider, open_memory: Callable[..., ReMe], make: Any
) -> None:
    provider.reply(status=400, message="this model takes no images")
    async with open_memory(make(provider)) as reme:
        failed = await reme.auto_memory(TALK, session_id="a", include_images=True)
        assert (reme.workspace.root / DIAGRAM).is_file()
    assert (failed.success, failed.pending) == (False, True)
    assert "this model takes no images" in failed.answer
    assert provider.chats[0].images == [f"data:image/png;base64,{PIXEL}", WEB]
    assert len(provider.chats) == 1
