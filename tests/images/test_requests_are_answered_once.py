"""A request with an id of its own is carried out once, however often it is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from agentscope_reme import ReMe
from agentscope_reme.errors import BadInput
from agentscope_reme.testing import ScriptedChatModel
from tests.images.parts import TALK, WRITE, turn

Open = Callable[..., ReMe]


async def test_the_same_request_gets_the_same_answer(open_memory: Open) -> None:
    model = ScriptedChatModel([WRITE, "Recorded."])
    async with open_memory(model) as reme:
        first = await reme.auto_memory(TALK, session_id="a", include_images=True, request_id="r1")
    async with open_memory(model) as reme:
        again = await reme.auto_memory(TALK, session_id="a", include_images=True, request_id="r1")
    assert first.created
    assert again == first
    model.assert_exhausted()


@pytest.mark.parametrize(
    "other", [{"hint": "x"}, {"date": "2026-06-19"}, {"include_images": True}, {"messages": TALK}]
)
async def test_another_request_under_the_same_id_is_refused(
    open_memory: Open, other: dict[str, object]
) -> None:
    request = {"messages": TALK[:1], "session_id": "a", "request_id": "r1"}
    async with open_memory(ScriptedChatModel([WRITE, "Recorded."])) as reme:
        await reme.auto_memory(**request)  # type: ignore[arg-type]
        before = (reme.workspace.root / "session/dialog/a.jsonl").read_bytes()
        with pytest.raises(BadInput, match="belongs to another request"):
            await reme.auto_memory(**(request | other))  # type: ignore[arg-type]
        assert (reme.workspace.root / "session/dialog/a.jsonl").read_bytes() == before


async def test_an_id_belongs_to_its_session(open_memory: Open) -> None:
    async with open_memory(ScriptedChatModel(["Nothing.", "Nothing."])) as reme:
        for session in "ab":
            done = await reme.auto_memory([turn("Hi.")], session_id=session, request_id="r1")
            assert done.success


async def test_what_failed_is_tried_again(open_memory: Open) -> None:
    model = ScriptedChatModel([ConnectionError("down"), WRITE, "Recorded."])
    async with open_memory(model) as reme:
        failed = await reme.auto_memory(TALK, session_id="a", request_id="r1")
        retried = await reme.auto_memory(TALK, session_id="a", request_id="r1")
        again = await reme.auto_memory(TALK, session_id="a", request_id="r1")
    assert (failed.success, retried.success) == (False, True)
    assert again == retried


async def test_without_a_model_nothing_is_answered_yet(open_memory: Open) -> None:
    async with open_memory() as reme:
        assert (await reme.auto_memory(TALK, session_id="a", request_id="r1")).pending
    async with open_memory(ScriptedChatModel([WRITE, "Recorded."])) as reme:
        assert (await reme.auto_memory(TALK, session_id="a", request_id="r1")).created


async def test_two_at_the_same_time_are_one(open_memory: Open) -> None:
    model = ScriptedChatModel([WRITE, "Recorded."])
    async with open_memory(model) as reme:
        calls = [reme.auto_memory(TALK, session_id="a", request_id="r1") for _ in range(3)]
        first, *others = await asyncio.gather(*calls)
    assert others == [first, first]
    model.assert_exhausted()


async def test_a_request_that_finds_nothing_new_is_remembered_too(open_memory: Open) -> None:
    async with open_memory(ScriptedChatModel([WRITE, "Recorded."])) as reme:
        await reme.auto_memory(TALK, session_id="a")
        first = await reme.auto_memory(TALK, session_id="a", request_id="r1")
        assert await reme.auto_memory(TALK, session_id="a", request_id="r1") == first
        with pytest.raises(BadInput, match="belongs to another request"):
            await reme.auto_memory([turn("New.")], session_id="a", request_id="r1")
        assert not (await reme.status()).pending_sessions


@pytest.mark.parametrize("request_id", ["", "x" * 129])
async def test_an_id_has_1_to_128_characters(open_memory: Open, request_id: str) -> None:
    async with open_memory() as reme:
        with pytest.raises(BadInput, match="request_id"):
            await reme.auto_memory(TALK, session_id="a", request_id=request_id)
        with pytest.raises(BadInput, match="session_id"):
            await reme.auto_memory(request_id="r1")
        assert not (reme.workspace.root / "session/dialog").exists() or not list(
            (reme.workspace.root / "session/dialog").iterdir()
        )
