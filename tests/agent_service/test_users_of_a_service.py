"""The agent service over HTTP: everybody is remembered, and nobody sees another's memory."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path

import agent_service
import pytest
from agentscope.message import Base64Source, DataBlock, TextBlock

from tests.agent_service.service_client import Person, running_service
from tests.loopback import LoopbackProvider, Reply, Request, ToolCall

SECRET = "The zebra vault opens at nine."
QUESTION = "When does the zebra vault open?"


@pytest.fixture
def answering(provider: LoopbackProvider) -> LoopbackProvider:
    """A model that answers, and gives the titles the service asks for."""

    def answer(request: Request) -> Reply:
        if request.structured_function is not None:
            return Reply(structured={"title": "Talk"})
        return Reply(text="I see.")

    return provider.respond_with(answer)


def prompts_with(provider: LoopbackProvider, question: str) -> list[str]:
    """What the model was shown in the replies to a question; titles are no replies."""
    asked = (r for r in provider.chats if r.structured_function is None)
    return ["\n".join(r.texts) for r in asked if any(question in text for text in r.texts)]


async def test_a_new_session_knows_what_the_same_user_said_before(
    tmp_path: Path, answering: LoopbackProvider
) -> None:
    async with running_service(tmp_path) as address:
        ann = await Person.sign_up(address, "ann", answering)
        await ann.say(await ann.new_session(), SECRET)
        await ann.say(await ann.new_session(), QUESTION)
        await ann.leave()
    (prompt,) = prompts_with(answering, QUESTION)
    assert SECRET in prompt
    assert "session/dialog/" in prompt


async def test_nobody_sees_what_another_user_said(
    tmp_path: Path, answering: LoopbackProvider
) -> None:
    async with running_service(tmp_path) as address:
        ann, bob = [await Person.sign_up(address, name, answering) for name in ("ann", "bob")]
        await ann.say(await ann.new_session(), SECRET)
        await bob.say(await bob.new_session(), QUESTION)
        for person in (ann, bob):
            await person.leave()
    (prompt,) = prompts_with(answering, QUESTION)
    assert SECRET not in prompt
    bobs = tmp_path / "memory" / "users" / "bob"
    assert bobs.is_dir()
    assert all(b"opens at nine" not in f.read_bytes() for f in bobs.rglob("*") if f.is_file())


async def test_a_restarted_service_still_knows(tmp_path: Path, answering: LoopbackProvider) -> None:
    async with running_service(tmp_path) as address:
        ann = await Person.sign_up(address, "ann", answering)
        await ann.say(await ann.new_session(), SECRET)
        await ann.leave()
    async with running_service(tmp_path) as address:
        ann = await Person.sign_up(address, "ann", answering)
        await ann.say(await ann.new_session(), QUESTION)
        await ann.leave()
    (prompt,) = prompts_with(answering, QUESTION)
    assert SECRET in prompt


async def test_an_uploaded_image_is_kept_and_the_words_beside_it_are_recalled(
    tmp_path: Path, answering: LoopbackProvider
) -> None:
    png = b"\x89PNG\r\n\x1a\n" + bytes(range(64))
    source = Base64Source(data=base64.b64encode(png).decode(), media_type="image/png")
    async with running_service(tmp_path) as address:
        ann = await Person.sign_up(address, "ann", answering)
        upload = [TextBlock(text="My zebra, at the vault."), DataBlock(source=source)]
        await ann.say(await ann.new_session(), upload)
        await ann.say(await ann.new_session(), "What do you know of my zebra?")
        await ann.leave()
    (prompt,) = prompts_with(answering, "What do you know of my zebra?")
    assert "My zebra, at the vault." in prompt
    images = (tmp_path / "memory" / "users" / "ann" / "session" / "images").rglob("*.png")
    assert [place.read_bytes() for place in images] == [png]


async def test_a_talk_goes_on_where_a_stopped_service_left_it(
    tmp_path: Path, answering: LoopbackProvider
) -> None:
    """Nothing is recorded twice, although every turn builds a new agent and a new middleware."""
    async with running_service(tmp_path) as address:
        ann = await Person.sign_up(address, "ann", answering)
        talk = await ann.new_session()
        await ann.say(talk, "first")
        await ann.leave()
    for text in ("second", "third"):
        async with running_service(tmp_path) as address:
            again = Person(ann.at(address), ann.agent_id, ann.model)
            await again.say(talk, text)
            await again.leave()
    logs = (tmp_path / "memory" / "users" / "ann" / "session" / "dialog").iterdir()
    rows = [json.loads(line) for line in next(logs).read_text().splitlines()]
    texts = [row["blocks"][0]["text"] for row in rows if "role" in row]
    assert texts == ["first", "I see.", "second", "I see.", "third", "I see."]


@pytest.mark.parametrize("confirmed", [True, False])
async def test_a_reply_that_waits_for_permission_is_recorded_once(
    tmp_path: Path, provider: LoopbackProvider, confirmed: bool
) -> None:
    """The service is started anew in between: another agent and another middleware go on."""

    def runs_a_command(request: Request) -> Reply:
        if request.structured_function is not None:
            return Reply(structured={"title": "Talk"})
        if any(said["role"] == "tool" for said in request.messages):
            return Reply(text="The zebra is in.")
        return Reply(tool_calls=(ToolCall("Bash", {"command": "rm zebra"}),))

    provider.respond_with(runs_a_command)
    async with running_service(tmp_path) as address:
        ann = await Person.sign_up(address, "ann", provider)
        talk = await ann.new_session()
        *_, asked = await ann.say(talk, "Is the zebra in?", until="REQUIRE_USER_CONFIRM")
        await ann.leave()
    log = next((tmp_path / "memory" / "users" / "ann" / "session" / "dialog").iterdir())
    assert [role for role, _ in turns(log)] == ["user"]
    async with running_service(tmp_path) as address:
        again = Person(ann.at(address), ann.agent_id, ann.model)
        await again.decide(talk, asked, confirmed=confirmed)
        await again.leave()
    assert turns(log) == [
        ("user", ["text"]),
        ("assistant", ["tool_call", "tool_result", "text"]),
    ]
    assert log.read_text("utf-8").count("The zebra is in.") == 1


def turns(log: Path) -> list[tuple[str, list[str]]]:
    """Who said something, and in blocks of which types."""
    rows = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    return [(row["role"], [b["type"] for b in row["blocks"]]) for row in rows if "role" in row]


async def test_many_users_at_once(tmp_path: Path, answering: LoopbackProvider) -> None:
    names = [f"user{number}" for number in range(4)]

    async def talk(address: str, name: str) -> None:
        person = await Person.sign_up(address, name, answering)
        await person.say(await person.new_session(), f"The badge of {name} is violet-{name}.")
        await person.say(await person.new_session(), f"Which badge has {name}?")
        await person.leave()

    async with running_service(tmp_path) as address:
        await asyncio.gather(*(talk(address, name) for name in names))
    for name in names:
        (prompt,) = prompts_with(answering, f"Which badge has {name}?")
        seen = [other for other in names if f"violet-{other}" in prompt]
        assert seen == [name]


def test_the_example_is_short() -> None:
    source = Path(agent_service.__file__).read_text(encoding="utf-8")
    assert len(source.splitlines()) < 60
