"""An image that cannot be used is refused before a line of the conversation is saved."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

from agentscope_reme import ReMe, Settings
from agentscope_reme.agentscope_line import installed_line
from agentscope_reme.errors import BadInput
from agentscope_reme.settings import DOTTED_KEYS
from agentscope_reme.testing import ScriptedChatModel
from tests.images.parts import PIXEL, TALK, blind, inline, linked, turn

Open = Callable[..., ReMe]
DOTTED = "components.agent_wrapper.default.context_config.max_image_num"


async def refused(reme: ReMe, talk: list[Any], match: str, session_id: str = "a") -> None:
    with pytest.raises(BadInput, match=match):
        await reme.auto_memory(talk, session_id=session_id, include_images=True)
    assert [p for p in (reme.workspace.root / "session").rglob("*") if p.is_file()] == []


async def test_a_model_that_cannot_see_is_named(open_memory: Open) -> None:
    async with open_memory(ScriptedChatModel([]), formatter=blind()) as reme:
        await refused(reme, TALK, "DeepSeekChatFormatter.*take no images")


async def test_a_model_that_cannot_see_still_reads(open_memory: Open) -> None:
    model = ScriptedChatModel(["Nothing."])
    async with open_memory(model, formatter=blind()) as reme:
        words = [turn("Only words.", id="m")]
        assert (await reme.auto_memory(words, session_id="a", include_images=True)).success


async def test_pending_images_are_reported_to_who_cannot_see(open_memory: Open) -> None:
    async with open_memory() as reme:
        await reme.auto_memory(TALK, session_id="a", include_images=True)
    async with open_memory(ScriptedChatModel([]), formatter=blind()) as reme:
        result = await reme.auto_memory(session_id="a", include_images=True)
    assert (result.success, result.pending) == (False, True)
    assert "take no images" in result.answer


@pytest.mark.parametrize(
    "url", ["file:///etc/hostname.png", "/etc/hostname.png", "ftp://x/y.png", "data:image/png,abc"]
)
async def test_other_addresses(open_memory: Open, url: str) -> None:
    async with open_memory(ScriptedChatModel([])) as reme:
        await refused(reme, [turn(linked(url))], "only http:// and https://")


async def test_a_local_file_in_a_live_message(open_memory: Open) -> None:
    scope: Any = import_module("agentscope.message")
    url = "file:///etc/hostname.png"
    if installed_line() == 1:
        image = scope.ImageBlock(type="image", source=scope.URLSource(type="url", url=url))
        message = scope.Msg("Ann", [image], "user")
    else:
        source = scope.URLSource(url=url, media_type="image/png")
        message = scope.UserMsg("Ann", [scope.DataBlock(source=source)])
    async with open_memory(ScriptedChatModel([])) as reme:
        await refused(reme, [message], "only http:// and https://")


@pytest.mark.parametrize("data", ["", "!!!", PIXEL[:-3], f"{PIXEL}\n", "a=b="])
async def test_broken_base64(open_memory: Open, data: str) -> None:
    async with open_memory(ScriptedChatModel([])) as reme:
        await refused(reme, [turn(inline(data))], "image")


async def test_one_image_too_many(open_memory: Open) -> None:
    six = [turn(inline(), id=f"m{number}") for number in range(6)]
    async with open_memory(ScriptedChatModel([])) as reme:
        await refused(reme, six, "more images than the 5")


async def test_the_limit_can_be_raised_by_its_dotted_key(open_memory: Open) -> None:
    quiet = {"watch": False, "fsync": False}
    settings = Settings.from_dotted({**quiet, DOTTED: "6"})
    six = [turn(inline(), id=f"m{number}") for number in range(6)]
    model = ScriptedChatModel(["Nothing."])
    async with open_memory(model, settings=settings) as reme:
        assert len((await reme.auto_memory(six, session_id="a", include_images=True)).images) == 6


def test_dotted_keys_are_read_wherever_settings_are() -> None:
    assert DOTTED in DOTTED_KEYS
    assert Settings.model_validate({DOTTED: 20}).max_image_num == 20
    for values in ({"components.other": 1}, {DOTTED: -1}, {DOTTED: 1, "max_image_num": 2}):
        with pytest.raises(BadInput):
            Settings.from_dotted(values)


async def test_two_images_in_one_place(open_memory: Open) -> None:
    other = "R0lGODlhAQABAAAAACw="
    talk = [turn(inline(), id="same"), turn(inline(other), id="same")]
    async with open_memory(ScriptedChatModel([])) as reme:
        await refused(reme, talk, "two different images")


async def test_names_that_are_no_file_names(open_memory: Open) -> None:
    async with open_memory(ScriptedChatModel([])) as reme:
        await refused(reme, [turn(inline(), id="x" * 130)], "too long")
        await refused(reme, TALK, "climbs out", session_id="../a")
