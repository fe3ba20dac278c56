"""Images of a conversation are saved, shown to the model beside their source, and listed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme import Message, ReMe, Settings
from agentscope_reme.files import MarkdownDocument
from agentscope_reme.results import AutoMemoryResult
from agentscope_reme.testing import ScriptedChatModel, ToolCall
from tests.images.parts import DAY, DIAGRAM, ORIGINAL, PIXEL, TALK, WEB, WRITE, inline, linked, turn

Open = Callable[..., ReMe]


def front_matter(reme: ReMe, result: AutoMemoryResult) -> dict[str, Any]:
    card = (reme.workspace.root / str(result.path)).read_bytes()
    return MarkdownDocument.parse(card).front_matter


async def test_originals_are_saved_and_listed_in_the_card(open_memory: Open) -> None:
    model = ScriptedChatModel([WRITE, "Recorded."])
    async with open_memory(model) as reme:
        result = await reme.auto_memory(TALK, session_id="a", include_images=True)
        assert (reme.workspace.root / DIAGRAM).read_bytes() == ORIGINAL
        assert result.images == [DIAGRAM, WEB]
        assert result.path == f"{DAY}/architecture.md"
        assert front_matter(reme, result)["source_images"] == [f"[[{DIAGRAM}]]", WEB]
        picture = await reme.read_image(DIAGRAM)
        assert (picture.media_type, picture.data) == ("image/png", PIXEL)
        assert [c.operation for c in (await reme.history(DIAGRAM)).changes] == ["save_images"]


async def test_base64_is_in_no_log_no_card_and_no_text(open_memory: Open) -> None:
    model = ScriptedChatModel([WRITE, "Recorded."])
    async with open_memory(model) as reme:
        await reme.auto_memory(TALK, session_id="a", include_images=True)
        root = reme.workspace.root
    for place in root.rglob("*"):
        if place.is_file() and place.suffix in (".md", ".jsonl", ".db"):
            assert PIXEL.encode() not in place.read_bytes(), place
    log = (root / "session/dialog/a.jsonl").read_text("utf-8")
    assert f'"path":"{DIAGRAM}"' in log
    assert '"size":70' in log


async def test_the_model_is_asked_to_cite(open_memory: Open) -> None:
    model = ScriptedChatModel([WRITE, "Recorded."])
    async with open_memory(model) as reme:
        await reme.auto_memory(TALK, session_id="a", include_images=True)
    assert "Put the source of the image into the same sentence" in model.requests[0].text


async def test_without_the_flag_nothing_changes(open_memory: Open) -> None:
    model = ScriptedChatModel([WRITE, "Recorded."])
    async with open_memory(model) as reme:
        result = await reme.auto_memory(TALK, session_id="a")
        assert not (reme.workspace.root / "session/images").exists()
        assert "source_images" not in front_matter(reme, result)
    assert result.images == []
    asked = model.requests[0].text
    assert "Image source" not in asked
    assert "cite" not in asked
    assert "(image/png: not kept)" in asked


async def test_with_the_flag_and_no_image_nothing_changes(open_memory: Open) -> None:
    talk = [turn("Only words.", id="m1")]
    models = [ScriptedChatModel(["Nothing."]) for _ in range(2)]
    for session, model in zip("ab", models, strict=True):
        async with open_memory(model) as reme:
            await reme.auto_memory(talk, session_id="same", include_images=session == "a")
            await reme.delete("session/dialog/same.jsonl")
    first, second = (model.requests[0].messages for model in models)
    assert [_said(message) for message in first] == [_said(message) for message in second]


def _said(message: Any) -> Any:
    return message["content"] if isinstance(message, dict) else message.get_text_content()


async def test_a_failing_model_leaves_log_and_image_and_both_come_back(open_memory: Open) -> None:
    async with open_memory(ScriptedChatModel([ConnectionError("down")])) as reme:
        failed = await reme.auto_memory(TALK, session_id="a", include_images=True)
        assert (failed.success, failed.pending, failed.images) == (False, True, [DIAGRAM, WEB])
        assert (reme.workspace.root / DIAGRAM).read_bytes() == ORIGINAL
    model = ScriptedChatModel([WRITE, "Recorded."])
    async with open_memory(model) as reme:
        result = await reme.auto_memory(session_id="a", include_images=True)
        listed = front_matter(reme, result)["source_images"]
    assert (result.pending, result.images) == (False, [DIAGRAM, WEB])
    assert listed == [f"[[{DIAGRAM}]]", WEB]
    assert PIXEL in model.requests[0].text
    assert f"Image source: [[{DIAGRAM}]]" in model.requests[0].text


async def test_without_a_model_images_wait_like_words(open_memory: Open) -> None:
    async with open_memory() as reme:
        saved = await reme.auto_memory(TALK, session_id="a", include_images=True)
        assert (saved.success, saved.pending) == (True, True)
        assert (reme.workspace.root / DIAGRAM).is_file()
    model = ScriptedChatModel([WRITE, "Recorded."])
    async with open_memory(model) as reme:
        everything = await reme.auto_memory(include_images=True)
    assert everything.images == [DIAGRAM, WEB]
    assert PIXEL in model.requests[0].text


async def test_an_existing_file_is_used_without_comparing(open_memory: Open) -> None:
    async with open_memory() as reme:
        await reme.auto_memory(TALK[:1], session_id="a", include_images=True)
        place = reme.workspace.root / DIAGRAM
        place.write_bytes(b"touched up")
        again = [turn("The diagram:", inline(), "Worker second.", id="message-a")]
        await reme.auto_memory(again, session_id="a", include_images=True)
        assert place.read_bytes() == b"touched up"


async def test_saved_images_do_not_make_a_message_new(open_memory: Open) -> None:
    model = ScriptedChatModel([WRITE, "Recorded."])
    async with open_memory(model) as reme:
        await reme.auto_memory(TALK, session_id="a", include_images=True)
        again = await reme.auto_memory(TALK, session_id="a", include_images=True)
        plain = await reme.auto_memory(TALK, session_id="a")
        assert (await reme.record("a", TALK)).duplicates == 2
    assert (again.model_calls, plain.model_calls) == (0, 0)
    assert again.images == [DIAGRAM, WEB]
    model.assert_exhausted()


async def test_resubmitting_with_images_shows_them_after_all(open_memory: Open) -> None:
    change = ToolCall("edit", {"path": f"{DAY}/architecture.md", "old": "Worker", "new": "Db"})
    model = ScriptedChatModel([WRITE, "Recorded.", change, "Updated."])
    async with open_memory(model) as reme:
        await reme.auto_memory(TALK, session_id="a")
        result = await reme.auto_memory(TALK, session_id="a", include_images=True)
        listed = front_matter(reme, result)["source_images"]
    assert listed == [f"[[{DIAGRAM}]]"]  # the other message says nothing new
    assert PIXEL in model.requests[2].text


async def test_listed_images_stay_whatever_the_model_writes(open_memory: Open) -> None:
    card = f"{DAY}/architecture.md"
    rewrite = ToolCall(
        "write",
        {"path": card, "content": "# New\n\nAll new.\n", "metadata": {"source_images": []}},
    )
    model = ScriptedChatModel([WRITE, "Recorded.", rewrite, "Updated."])
    later = turn("Another:", inline(), id="c", at="11:00:00")
    async with open_memory(model) as reme:
        await reme.auto_memory(TALK, session_id="a", include_images=True)
        result = await reme.auto_memory([later], session_id="a", include_images=True)
        listed = front_matter(reme, result)["source_images"]
    fresh = "session/images/a/msg-63-image-1.png"
    assert listed == [f"[[{DIAGRAM}]]", WEB, f"[[{fresh}]]"]
    assert result.images == [fresh]


async def test_a_message_without_an_id_gets_that_of_the_log(open_memory: Open) -> None:
    talk = [turn("Look:", inline(media_type="image/jpeg"))]
    async with open_memory() as reme:
        first = await reme.auto_memory(talk, session_id="a", include_images=True)
        again = await reme.auto_memory(talk, session_id="a", include_images=True)
        row = (reme.workspace.root / "session/dialog/a.jsonl").read_text("utf-8").splitlines()
    (path,) = first.images
    assert again.images == [path]
    assert len(row) == 2  # the header, and the message once
    logged = Message.model_validate_json(row[1])
    assert path == f"session/images/a/msg-{str(logged.id).encode().hex()}-image-1.jpg"


@pytest.mark.parametrize(
    ("session_id", "folder"), [("team/42", "team%2F42"), ("会话 1", "会话%201")]
)
async def test_folders_are_named_as_logs_are(
    open_memory: Open, session_id: str, folder: str
) -> None:
    async with open_memory() as reme:
        saved = await reme.auto_memory(TALK, session_id=session_id, include_images=True)
        assert (reme.workspace.root / f"session/dialog/{folder}.jsonl").is_file()
        assert (reme.workspace.root / saved.images[0]).is_file()
    assert saved.images[0].startswith(f"session/images/{folder}/msg-")


async def test_a_backlog_is_shown_in_parts_of_few_images(open_memory: Open) -> None:
    settings = Settings(watch=False, fsync=False, max_image_num=2)
    async with open_memory(settings=settings) as reme:
        for number in range(5):
            one = turn("One:", inline(), id=f"m{number}", at=f"10:0{number}:00")
            await reme.auto_memory([one], session_id="a", include_images=True)
    model = ScriptedChatModel(["Nothing."] * 3)
    async with open_memory(model, settings=settings) as reme:
        caught_up = await reme.auto_memory(session_id="a", include_images=True)
    assert [request.text.count(PIXEL) for request in model.requests] == [2, 2, 1]
    assert len(caught_up.images) == 5


async def test_a_reference_to_another_file_opens_nothing(open_memory: Open, tmp_path: Path) -> None:
    model = ScriptedChatModel(["Nothing."])
    stranger = {"type": "data", "media_type": "image/png", "path": "session/images/b/msg-1.png"}
    async with open_memory(model) as reme:
        place = reme.workspace.root / "session/images/b/msg-1.png"
        place.parent.mkdir(parents=True)
        place.write_bytes(ORIGINAL)
        result = await reme.auto_memory(
            [turn("Look:", stranger, linked(), id="m")], session_id="a", include_images=True
        )
    assert result.images == [WEB]
    assert PIXEL not in model.requests[0].text
