"""Pictures reach the provider as pictures, in a form and size it takes."""

from __future__ import annotations

import base64
import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from agentscope_reme import ReMe
from agentscope_reme.agentscope_line import installed_line
from agentscope_reme.errors import BadDocument, BadInput
from agentscope_reme.files.documents import MarkdownDocument
from agentscope_reme.steps.resources.pictures import Picture, shown_picture
from agentscope_reme.testing import ScriptedChatModel
from tests.images.models import dashscope, openai
from tests.images.parts import ORIGINAL, PIXEL, blind
from tests.loopback import LoopbackProvider
from tests.resources.conftest import Put
from tests.resources.parts import CARD, DAY, KEEPS, WRITE
from tests.resources.samples import noise, picture

PLAN = f"resource/{DAY}/plan.png"


@pytest.mark.usefixtures("dashscope_address")
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("make", [openai, dashscope])
async def test_what_the_provider_is_sent(
    open_memory: Callable[..., ReMe],
    put: Put,
    root: Path,
    provider: LoopbackProvider,
    make: Any,
    stream: bool,
) -> None:
    provider.reply(tool_calls=[(WRITE.name, WRITE.input)]).reply("Recorded.")
    async with open_memory(make(provider, stream=stream)) as reme:
        put(f"{DAY}/plan.png", ORIGINAL)
        result = await reme.auto_resource()
        again = await reme.auto_resource()
    first, second = provider.chats
    assert first.images == second.images == [f"data:image/png;base64,{PIXEL}"]
    words = first.texts[-1]
    assert f"<resource_text>\nImage source: [[{PLAN}]]" in words
    assert "Shown: the picture\n" in words
    content = first.messages[-1]["content"]
    native = installed_line() == 1 and make is dashscope
    assert [next(iter(set(part) - {"type"})) for part in content] == (
        ["text", "image", "text"] if native else ["text", "image_url", "text"]
    )
    document = MarkdownDocument.parse((root / CARD).read_bytes())
    assert (result.success, again.unchanged) == (True, 1)
    assert (document.front_matter["kind"], document.front_matter["media_type"]) == (
        "image",
        "image/png",
    )
    assert document.body.startswith(f"![[{PLAN}]]\n\n# Solar report")


async def test_a_model_that_cannot_see_fails_for_pictures_only(
    open_memory: Callable[..., ReMe], put: Put
) -> None:
    model = ScriptedChatModel(KEEPS)
    async with open_memory(model, formatter=blind()) as reme:
        put(f"{DAY}/plan.png", ORIGINAL)
        put(f"{DAY}/text.md", "text")
        failed = await reme.auto_resource()
        skipped = await reme.auto_resource(include_images=False)
    assert [f.item for f in failed.failed] == [PLAN]
    assert "takes no pictures" in failed.answer
    assert [c.resource for c in failed.cards] == [f"resource/{DAY}/text.md"]
    assert (skipped.success, [s.item for s in skipped.skipped]) == (True, [PLAN])


async def test_pictures_wait_for_a_model(open_memory: Callable[..., ReMe], put: Put) -> None:
    async with open_memory() as reme:
        put(f"{DAY}/plan.png", ORIGINAL)
        assert (await reme.auto_resource()).pending == [PLAN]


@pytest.mark.parametrize(
    ("name", "form", "media_type"),
    [
        ("a.png", "PNG", "image/png"),
        ("a.jpg", "JPEG", "image/jpeg"),
        ("a.gif", "GIF", "image/gif"),
        ("a.webp", "WEBP", "image/webp"),
        ("misnamed.png", "JPEG", "image/jpeg"),
    ],
)
def test_usual_pictures_are_shown_as_they_are(name: str, form: str, media_type: str) -> None:
    data = picture(form, (30, 20))
    assert shown(name, data) == (data, media_type, media_type, "")


def test_unusual_formats_become_png_or_jpeg() -> None:
    for form, name in (("BMP", "a.bmp"), ("TIFF", "a.tiff")):
        data, media_type, original, _ = shown(name, picture(form, (30, 20)))
        assert (media_type, original) == ("image/jpeg", f"image/{form.lower()}")
        assert Image.open(io.BytesIO(data)).size == (30, 20)
    data, media_type, _, _ = shown("a.tiff", picture("TIFF", (30, 20), mode="RGBA"))
    assert (media_type, Image.open(io.BytesIO(data)).mode) == ("image/png", "RGBA")


def test_large_pictures_are_scaled_down_and_it_is_said() -> None:
    data, _, _, changed = shown("a.png", picture("PNG", (4096, 1024)))
    assert Image.open(io.BytesIO(data)).size == (2048, 512)
    assert changed == "scaled from 4096 x 1024 to 2048 x 512"
    heavy = noise((1500, 1500))
    assert len(heavy) > 5 * 1024 * 1024
    data, media_type, original, _ = shown("b.png", heavy)
    assert (media_type, original) == ("image/jpeg", "image/png")
    assert len(data) < 5 * 1024 * 1024


def test_pictures_are_turned_upright() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was held on its side
    data, media_type, _, _ = shown("a.jpg", picture("JPEG", (40, 20), exif=exif))
    assert Image.open(io.BytesIO(data)).size == (20, 40)
    assert media_type == "image/jpeg"


def test_of_a_large_animation_the_first_frame_is_shown_and_it_is_said() -> None:
    frames = [Image.new("RGB", (2100, 20), color) for color in ("red", "green", "blue")]
    out = io.BytesIO()
    frames[0].save(out, "GIF", save_all=True, append_images=frames[1:])
    assert shown("a.gif", out.getvalue())[3].startswith("first of 3 frames, scaled from 2100 x 20")


def test_a_picture_with_too_many_pixels_is_not_decoded() -> None:
    with pytest.raises(BadDocument, match="7000 x 7000"):
        shown_picture("a.png", picture("PNG", (7000, 7000), mode="L"))


async def test_without_pillow_usual_pictures_are_shown_and_others_wait(
    open_memory: Callable[..., ReMe], put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    bmp = picture("BMP", (30, 20))
    with monkeypatch.context() as absent:
        absent.setitem(sys.modules, "PIL.Image", None)
        absent.setitem(sys.modules, "PIL", None)
        async with open_memory(ScriptedChatModel(KEEPS)) as reme:
            put(f"{DAY}/plan.bmp", bmp)
            put(f"{DAY}/plan.png", ORIGINAL)
            result = await reme.auto_resource()
    assert [c.resource for c in result.cards] == [PLAN]
    assert "agentscope-reme[images]" in result.failed[0].reason


def test_heic_names_what_it_needs() -> None:
    with pytest.raises(BadInput, match="pillow-heif"):
        shown_picture("a.heic", b"\0\0\0\x18ftypheic")


def shown(name: str, data: bytes) -> tuple[bytes, str, str, str]:
    found: Picture = shown_picture(name, data)
    sent = base64.b64decode(found.block.data or "")
    return sent, found.block.media_type, found.media_type, found.changed
