"""Images an agent is shown are kept by its memory, and shown to the model that distils."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme import ReMe, Settings
from agentscope_reme.agentscope_line import installed_line
from agentscope_reme.errors import ReMeError
from agentscope_reme.files import MarkdownDocument
from tests.images.models import dashscope, openai
from tests.images.parts import ORIGINAL, PIXEL, blind
from tests.loopback import LoopbackProvider, Request
from tests.loopback.script import Reply, ToolCall

Open = Callable[..., ReMe]

pytestmark = pytest.mark.usefixtures("dashscope_address")
LINE = installed_line()
WAYS = ["attach", "hook", "long_term_memory"] if LINE == 1 else ["attach", "middleware"]
ways = pytest.mark.parametrize("way", WAYS)
SHOWN = f"data:image/png;base64,{PIXEL}"
MEMORY = "You keep the daily memory"


def path_of(message_id: str, index: int = 1, session: str = "s") -> str:
    return f"session/images/{session}/msg-{message_id.encode().hex()}-image-{index}.png"


def said(message_id: str, *content: Any) -> Any:
    """A user's message of the installed line; images are given as Base64 or as a URL."""
    message: Any = import_module("agentscope.message")
    blocks = []
    for part in content:
        if isinstance(part, str):
            blocks.append(message.TextBlock(type="text", text=part))
            continue
        if "url" in part:
            url = part["url"] if LINE == 1 else part
            source = message.URLSource(**({"type": "url", "url": url} if LINE == 1 else url))
        else:
            source = message.Base64Source(**part)
        kind = "ImageBlock" if LINE == 1 else "DataBlock"
        extra = {"type": "image"} if LINE == 1 else {}
        blocks.append(getattr(message, kind)(source=source, **extra))
    msg = message.Msg(name="Ann", content=blocks, role="user")
    msg.id = message_id
    return msg


def picture(data: str = PIXEL) -> dict[str, str]:
    return {"type": "base64", "media_type": "image/png", "data": data}


def agent_with(reme: ReMe, model: Any, way: str) -> Any:
    """A real agent whose turns reach the memory in one of the ways there are."""
    if LINE == 1:
        from agentscope.agent import ReActAgent
        from agentscope.formatter import OpenAIChatFormatter

        from agentscope_reme.hooks import AutoMemoryHook

        ltm: dict[str, Any] = {}
        if way == "long_term_memory":
            ltm = {"long_term_memory": reme.long_term_memory(session_id="s")}
            ltm["long_term_memory_mode"] = "static_control"
        agent = ReActAgent("Friday", "You help.", model, OpenAIChatFormatter(), **ltm)
        if way == "hook":
            agent.register_instance_hook("post_reply", "record", AutoMemoryHook(reme, "s"))
    else:
        agents: Any = import_module("agentscope.agent")
        config = getattr(agents, "InjectionConfig", None)
        options = {"injection_config": config(inject_runtime_state=False)} if config else {}
        if way == "middleware":
            options["middlewares"] = [reme.middleware(session_id="s", mode="static")]
        agent = agents.Agent("Friday", "You help.", model, **options)
    if way == "attach":
        reme.attach(agent, session_id="s", recall="off")
    return agent


async def ask(agent: Any, message: Any) -> None:
    await (agent(message) if LINE == 1 else agent.reply(message))


def card(cites: str = "") -> Reply:
    fields = {"name": "diagram", "description": "Gateway first.", "content": f"Gateway. {cites}"}
    return Reply(tool_calls=(ToolCall("daily_write", fields),))


def remembers(*replies: Reply) -> Callable[[Request], Reply]:
    """Agents get "ok"; the memory's model says what is scripted, and nothing after that."""
    left: Iterator[Reply] = iter(replies)

    def respond(request: Request) -> Reply:
        if MEMORY not in request.texts[0]:
            return Reply(text="ok")
        return next(left, Reply(text="Nothing to record."))

    return respond


def distilled(provider: LoopbackProvider) -> list[Request]:
    return [request for request in provider.chats if MEMORY in request.texts[0]]


def content_of(request: Request) -> list[dict[str, Any]]:
    content = request.messages[1]["content"]
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


def front_matter(reme: ReMe) -> dict[str, Any]:
    (place,) = (reme.workspace.root / "daily").glob("*/*.md")
    return MarkdownDocument.parse(place.read_bytes()).front_matter


@ways
@pytest.mark.parametrize("make", [openai, dashscope])
async def test_the_original_is_kept_shown_beside_its_source_and_listed(
    provider: LoopbackProvider, open_memory: Open, make: Any, way: str
) -> None:
    provider.respond_with(remembers(card(f"[[{path_of('m1')}]]"), Reply(text="Recorded.")))
    async with open_memory(make(provider)) as reme:
        agent = agent_with(reme, openai(provider), way)
        await ask(agent, said("m1", "The diagram:", picture(), "Gateway first."))
        assert (reme.workspace.root / path_of("m1")).read_bytes() == ORIGINAL
        assert await reme.drain()
        assert front_matter(reme)["source_images"] == [f"[[{path_of('m1')}]]"]
        assert (await reme.status()).pending_sessions == []
        log = (reme.workspace.root / "session/dialog/s.jsonl").read_text("utf-8")
    assert PIXEL not in log
    first = distilled(provider)[0]
    assert "Put the source of the image into the same sentence" in first.texts[0]
    words, image, rest = content_of(first)
    assert words["text"].endswith(f"The diagram:\nImage source: [[{path_of('m1')}]]")
    native = LINE == 1 and make is dashscope
    assert image == ({"image": SHOWN} if native else _openai_image(SHOWN))
    assert rest["text"].startswith("Gateway first.\n\n[Friday @ ")


def _openai_image(url: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


@ways
async def test_a_model_without_vision_gets_the_source_in_words(
    provider: LoopbackProvider, open_memory: Open, way: str
) -> None:
    provider.respond_with(remembers(card(), Reply(text="Recorded.")))
    async with open_memory(openai(provider), formatter=blind()) as reme:
        agent = agent_with(reme, openai(provider), way)
        await ask(agent, said("m1", "The diagram:", picture()))
        assert await reme.drain()
        status = await reme.status()
        assert front_matter(reme)["source_images"] == [f"[[{path_of('m1')}]]"]
    assert (status.pending_sessions, status.failures) == ([], {})
    (first, _) = distilled(provider)
    assert first.images == []
    assert f"The diagram:\n(image/png: [[{path_of('m1')}]])" in first.texts[1]


@ways
@pytest.mark.parametrize("make", [openai, dashscope])
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_a_provider_that_refuses_images_is_asked_again_in_words(
    provider: LoopbackProvider, open_memory: Open, make: Any, stream: bool, way: str
) -> None:
    refusal = Reply(status=400, message="this model takes no images")
    provider.respond_with(remembers(refusal, card(), Reply(text="Recorded.")))
    async with open_memory(make(provider, stream=stream)) as reme:
        agent = agent_with(reme, openai(provider), way)
        await ask(agent, said("m1", "The diagram:", picture()))
        assert await reme.drain()
        status = await reme.status()
        assert front_matter(reme)["source_images"] == [f"[[{path_of('m1')}]]"]
    assert status.pending_sessions == []
    assert status.failures == {"auto_memory.images": 1}
    first, second, _ = distilled(provider)
    assert (first.images, second.images) == ([SHOWN], [])


@ways
async def test_an_outage_is_no_refusal_and_the_image_is_shown_later(
    provider: LoopbackProvider, open_memory: Open, way: str
) -> None:
    provider.respond_with(remembers(Reply(status=503), card(), Reply(text="Recorded.")))
    async with open_memory(openai(provider)) as reme:
        agent = agent_with(reme, openai(provider), way)
        await ask(agent, said("m1", "The diagram:", picture()))
        await reme.drain()
        assert (await reme.status()).pending_sessions == ["s"]
        await ask(agent, said("m2", "Are you there?"))
        await reme.drain()
        assert (await reme.status()).pending_sessions == []
    assert [request.images for request in distilled(provider)[:2]] == [[SHOWN], [SHOWN]]


@ways
async def test_more_images_than_a_run_takes_are_kept_and_shown_in_the_next_run(
    provider: LoopbackProvider, open_memory: Open, way: str
) -> None:
    provider.respond_with(remembers())
    settings = Settings(watch=False, fsync=False, max_image_num=2, record_every_turns=3)
    async with open_memory(openai(provider), settings=settings) as reme:
        agent = agent_with(reme, openai(provider), way)
        for number in range(3):
            await ask(agent, said(f"m{number}", "One:", picture()))
        assert await reme.drain()
        saved = sorted((reme.workspace.root / "session/images/s").iterdir())
        assert (await reme.status()).failures == {}
    assert len(saved) == 3
    assert [len(request.images) for request in distilled(provider)] == [2, 1]


@ways
async def test_a_turn_with_too_many_images_is_shown_the_first_and_told_of_the_rest(
    provider: LoopbackProvider, open_memory: Open, way: str
) -> None:
    provider.respond_with(remembers(card(), Reply(text="Recorded.")))
    settings = Settings(watch=False, fsync=False, max_image_num=2)
    async with open_memory(openai(provider), settings=settings) as reme:
        agent = agent_with(reme, openai(provider), way)
        await ask(agent, said("m1", "Four:", *(picture() for _ in range(4))))
        assert await reme.drain()
        kept = [path_of("m1", index) for index in range(1, 5)]
        assert all((reme.workspace.root / path).read_bytes() == ORIGINAL for path in kept)
        assert front_matter(reme)["source_images"] == [f"[[{path}]]" for path in kept]
    first = distilled(provider)[0]
    assert first.images == [SHOWN, SHOWN]
    assert f"(image/png: [[{kept[2]}]])\n(image/png: [[{kept[3]}]])" in first.texts[1]


@ways
async def test_where_no_images_are_wanted_turns_are_distilled_with_mentions(
    provider: LoopbackProvider, open_memory: Open, way: str
) -> None:
    provider.respond_with(remembers(card(), Reply(text="Recorded.")))
    settings = Settings(watch=False, fsync=False, max_image_num=0)
    async with open_memory(openai(provider), settings=settings) as reme:
        agent = agent_with(reme, openai(provider), way)
        await ask(agent, said("m1", "Two:", picture(), picture()))
        assert await reme.drain()
        kept = [path_of("m1", index) for index in range(1, 3)]
        assert all((reme.workspace.root / path).read_bytes() == ORIGINAL for path in kept)
        status = await reme.status()
        assert (status.failures, status.pending_sessions) == ({}, [])
    first = distilled(provider)[0]
    assert first.images == []
    assert f"(image/png: [[{kept[0]}]])" in first.texts[1]


@ways
async def test_a_local_file_is_kept_before_it_goes_away(
    provider: LoopbackProvider, open_memory: Open, tmp_path: Path, way: str
) -> None:
    provider.respond_with(remembers(card(), Reply(text="Recorded.")))
    place = tmp_path / "diagram.png"
    place.write_bytes(ORIGINAL)
    async with open_memory(openai(provider)) as reme:
        agent = agent_with(reme, openai(provider), way)
        url = {"url": str(place) if LINE == 1 else place.as_uri(), "media_type": "image/png"}
        await ask(agent, said("m1", "The diagram:", url))
        place.unlink()
        assert await reme.drain()
        assert (reme.workspace.root / path_of("m1")).read_bytes() == ORIGINAL
    assert distilled(provider)[0].images == [SHOWN]


async def test_an_image_that_cannot_be_kept_costs_neither_words_nor_reply(
    provider: LoopbackProvider, open_memory: Open
) -> None:
    provider.respond_with(remembers())
    odd = {"type": "data", "source": {"type": "base64", "media_type": "image/png", "data": "%%"}}
    local = {"type": "image_url", "image_url": {"url": "file:///etc/hostname"}}
    good = {"type": "data", "source": picture()}
    words = {"type": "text", "text": "Three:"}
    async with open_memory(openai(provider)) as reme:
        turn = {"id": "m1", "role": "user", "content": [words, odd, local, good]}
        result = await reme.record("s", [turn])
        assert (result.success, result.appended) == (True, 1)
        assert await reme.drain()
        status = await reme.status()
        assert (reme.workspace.root / path_of("m1", 3)).read_bytes() == ORIGINAL
    assert (status.pending_sessions, status.failures) == ([], {"images": 2})
    (asked,) = distilled(provider)
    assert asked.images == [SHOWN]
    assert "(image/png: not kept)\n(image/*: file:///etc/hostname)" in asked.texts[1]


async def test_words_are_safe_when_the_image_could_not_be_saved_yet(open_memory: Open) -> None:
    async with open_memory() as reme:
        place = reme.workspace.root / "session/images"
        place.parent.mkdir(exist_ok=True)
        place.write_text("in the way")
        turn = {"id": "m1", "role": "user", "content": [{"type": "data", "source": picture()}]}
        turn["content"].insert(0, {"type": "text", "text": "Look."})  # type: ignore[attr-defined]
        with pytest.raises(ReMeError):
            await reme.record("s", [turn])
        assert "Look." in (reme.workspace.root / "session/dialog/s.jsonl").read_text("utf-8")
        place.unlink()
        await reme.record("s", [turn])
        assert (reme.workspace.root / path_of("m1")).read_bytes() == ORIGINAL


async def test_a_long_message_id_costs_no_image(open_memory: Open) -> None:
    async with open_memory() as reme:
        content = [{"type": "data", "source": picture()}]
        await reme.record("s", [{"id": "m" * 200, "role": "user", "content": content}])
        (saved,) = (reme.workspace.root / "session/images/s").iterdir()
        assert saved.read_bytes() == base64.b64decode(PIXEL)


async def test_an_image_is_decoded_once(open_memory: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[str] = []
    decode = base64.b64decode

    def counted(data: str, **options: Any) -> bytes:
        decoded.append(data)
        return decode(data, **options)

    monkeypatch.setattr(base64, "b64decode", counted)
    async with open_memory() as reme:
        content = [{"type": "data", "source": picture()}]
        await reme.record("s", [{"id": "m1", "role": "user", "content": content}])
        log = (reme.workspace.root / "session/dialog/s.jsonl").read_text("utf-8")
    assert decoded == [PIXEL]
    (block,) = json.loads(log.splitlines()[-1])["blocks"]
    original = decode(PIXEL)
    assert block["sha256"] == hashlib.sha256(original).hexdigest()
    assert (block["size"], block["path"]) == (len(original), path_of("m1", 0))


async def test_a_turn_that_was_corrected_is_told(open_memory: Open) -> None:
    async with open_memory() as reme:
        await reme.record("s", [{"id": "m1", "role": "user", "content": "At nine."}])
        again = await reme.record("s", [{"id": "m1", "role": "user", "content": "At ten."}])
    assert again.answer == "0 turn(s) saved to session/dialog/s.jsonl, 1 corrected."


async def test_recording_of_images_can_be_switched_off(
    provider: LoopbackProvider, open_memory: Open
) -> None:
    provider.respond_with(remembers())
    settings = Settings(watch=False, fsync=False, record_images=False)
    async with open_memory(openai(provider), settings=settings) as reme:
        content = [{"type": "data", "source": picture()}]
        await reme.record("s", [{"id": "m1", "role": "user", "content": content}])
        await reme.drain()
        assert not (reme.workspace.root / "session/images").exists()
    assert distilled(provider)[0].images == []


async def test_concurrent_turns_keep_their_images(open_memory: Open) -> None:
    async with open_memory() as reme:
        turns = [
            {"id": f"m{n}", "role": "user", "content": [{"type": "data", "source": picture()}]}
            for n in range(8)
        ]
        await asyncio.gather(*(reme.record("s", [turn]) for turn in turns))
        saved = {place.name for place in (reme.workspace.root / "session/images/s").iterdir()}
    assert saved == {Path(path_of(f"m{n}", 0)).name for n in range(8)}
