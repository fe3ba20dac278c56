"""`ReMeFormatter` shows a conversation with images as it was, through any provider's formatter."""

from __future__ import annotations

from datetime import datetime
from importlib import import_module
from typing import Any

import pytest

from agentscope_reme import Message, ReMeFormatter
from agentscope_reme.agentscope_line import installed_line
from agentscope_reme.messages import DataBlock, TextBlock, ToolCallBlock, ToolResultBlock
from tests.images.models import formatter
from tests.images.parts import DIAGRAM, PIXEL, WEB, blind

LINE = installed_line()
TIME = datetime(2026, 6, 18, 9, 30).astimezone().isoformat()  # what has no zone is machine time
DATA_URI = f"data:image/png;base64,{PIXEL}"
FORMATTERS = [
    f"{provider}{kind}Formatter"
    for provider in ("OpenAI", "DashScope", "Anthropic", "Gemini", "Ollama")
    for kind in ("Chat", "MultiAgent")
]


def room() -> Any:
    return import_module(f"agentscope_reme.agentscope_v{LINE}")


def msg(name: str, *blocks: str | DataBlock, role: str = "user", time: str = "09:30:00") -> Any:
    made = tuple(TextBlock(text=b) if isinstance(b, str) else b for b in blocks)
    row = {"role": role, "name": name, "created_at_text": None, "blocks": made}
    neutral = Message.model_validate(row | {"created_at": f"2026-06-18T{time}"})
    return room().from_neutral(neutral)


def kept(path: str | None = DIAGRAM) -> DataBlock:
    return DataBlock(media_type="image/png", data=PIXEL, path=path)


def web() -> DataBlock:
    return DataBlock(media_type="image/png", url=WEB)


TALK = [
    ("Ann", "The diagram:", kept(), "Gateway first."),
    ("Bob", web(), "And the plan."),
]


def talk() -> list[Any]:
    system = room().from_neutral(
        Message(role="system", name="system", blocks=(TextBlock(text="Be kind."),))
    )
    ann, bob = (msg(*turn) for turn in TALK)
    return [system, ann, bob, msg("Friday", "I see.", role="assistant")]


def test_it_is_a_formatter_of_the_installed_line_that_sees() -> None:
    base: Any = import_module("agentscope.formatter").FormatterBase
    made = ReMeFormatter(formatter("DashScopeChatFormatter"))
    assert isinstance(made, base)
    assert ReMeFormatter.__name__ == "ReMeFormatter"
    if LINE == 1:
        assert made.support_vision
        assert not ReMeFormatter(blind()).support_vision
    else:
        assert "image/*" in made.supported_input_media_types
        assert ReMeFormatter(blind()).supported_input_media_types == []


async def test_speakers_times_sources_and_images_in_order() -> None:
    system, user = await ReMeFormatter(formatter("OpenAIChatFormatter")).format(talk())
    assert system["role"] == "system"
    assert (user["role"], user["name"]) == ("user", "user")
    assert user["content"] == [
        {
            "type": "text",
            "text": f"[Ann @ {TIME}] The diagram:\nImage source: [[{DIAGRAM}]]",
        },
        {"type": "image_url", "image_url": {"url": DATA_URI}},
        {
            "type": "text",
            "text": f"Gateway first.\n\n[Bob @ {TIME}]\nImage source: {WEB}",
        },
        {"type": "image_url", "image_url": {"url": WEB}},
        {"type": "text", "text": f"And the plan.\n\n[Friday @ {TIME}] I see."},
    ]


@pytest.mark.parametrize("name", FORMATTERS)
async def test_every_provider_keeps_the_order(name: str) -> None:
    turns = [msg("Ann", "First.", kept(), "Second.", kept("session/images/a/b.png"), "Third.")]
    shown = str(await ReMeFormatter(formatter(name)).format(turns))
    words = ["First.", f"[[{DIAGRAM}]]", "Second.", "[[session/images/a/b.png]]", "Third."]
    places = [shown.index(word) for word in words]
    assert places == sorted(places)
    assert shown.count(PIXEL) == 2
    if "Ollama" not in name:  # which keeps the images of a message beside its text
        first, second = shown.index(PIXEL), shown.rindex(PIXEL)
        assert places[1] < first < places[2] < places[3] < second < places[4]


async def test_without_images_the_provider_formats_alone() -> None:
    wrapped = formatter("OpenAIChatFormatter")
    words = [msg("Ann", "Hello."), msg("Friday", "Hi.", role="assistant")]
    assert await ReMeFormatter(wrapped).format(words) == await wrapped.format(words)


async def test_a_provider_without_vision_is_told_where_the_images_are() -> None:
    shown = str(await ReMeFormatter(blind()).format([msg(*turn) for turn in TALK]))
    assert PIXEL not in shown
    assert f"(image/png: [[{DIAGRAM}]])" in shown
    assert f"(image/png: {WEB})" in shown


async def test_tool_calls_stay_where_they_are() -> None:
    call = ToolCallBlock(id="c1", name="look", input="{}")
    answer = ToolResultBlock(id="c1", name="look", output=(TextBlock(text="a cat"),))
    steps = [
        Message(role="assistant", name="Friday", blocks=(call,)),
        Message(role="system", name="system", blocks=(answer,)),
    ]
    turns = [msg("Ann", kept()), *map(room().from_neutral, steps), msg("Ann", "Thanks.")]
    made = await ReMeFormatter(formatter("OpenAIChatFormatter")).format(turns)
    assert [message["role"] for message in made] == ["user", "assistant", "tool", "user"]
    assert made[-1]["content"] == [{"type": "text", "text": "Thanks."}]


async def test_an_image_nobody_kept_has_no_source() -> None:
    (user,) = await ReMeFormatter().format([msg("Ann", kept(None))])
    assert user["content"] == [
        {"type": "text", "text": f"[Ann @ {TIME}]"},
        {"type": "image_url", "image_url": {"url": DATA_URI}},
    ]
