"""No call of one target shows, changes or counts anything of another, also of the same name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme import ReMeError, VectorReMe
from agentscope_reme.errors import BadInput
from agentscope_reme.testing import Script
from tests.typed.conftest import Open
from tests.typed.talks import drafts

SECRET = "xylophone-4711"
TALK = [{"role": "user", "content": f"my {SECRET}", "time_created": "2026-02-28 10:00:00"}]


@dataclass(frozen=True)
class Given:
    """What a stranger may have got hold of."""

    other: str
    """The id of a memory of alice."""
    folder: Path
    """Where files go."""


Call = Callable[[VectorReMe, dict[str, str], Given], Any]

CALLS: dict[str, list[Call]] = {
    "summarize_memory": [
        lambda r, name, _: r.summarize_memory([], **name, return_dict=True),
        lambda r, name, _: r.summarize_memory([{"role": "user", "content": "hi"}], **name),
    ],
    "retrieve_memory": [
        lambda r, name, _: r.retrieve_memory(f"my xylophone {SECRET[-4:]}", **name),
        lambda r, name, _: r.retrieve_memory("2026-02-28", **name, return_dict=True),
    ],
    "retrieve_profile": [
        lambda r, name, _: r.retrieve_profile(user_name=next(iter(name.values()))),
        lambda r, name, _: r.retrieve_profile("xylophone", user_name=next(iter(name.values()))),
    ],
    "add_memory": [lambda r, name, _: r.add_memory("mine", **name)],
    "update_memory": [
        lambda r, name, given: r.update_memory(given.other, **name, memory_content="stolen"),
        lambda r, name, given: r.update_memory(given.other, **name, score=1.0),
    ],
    "list_memory": [
        lambda r, name, _: r.list_memory(**name),
        lambda r, name, _: r.list_memory(**name, filters={"memory_type": "history"}),
        lambda r, name, _: r.list_memory(**name, filters={"memory_target": "alice"}),
        lambda r, name, _: r.list_memory(**name, filters={"memory_type": "personal"}),
        lambda r, name, _: r.list_memory(**name, filters={"memory_type": "profile"}),
    ],
    "status": [lambda r, _, __: r.status()],
    "drain": [lambda r, _, __: r.drain()],
    "export_markdown": [lambda r, name, given: _exported(r, name, given.folder)],
    "import_markdown": [
        lambda r, name, given: r.import_markdown(given.folder, **name),
        lambda r, name, given: _imported_from_another(r, name, given.folder),
    ],
    "tools": [lambda r, name, _: _used(r, name)],
}


async def _exported(reme: VectorReMe, name: dict[str, str], folder: Path) -> str:
    await reme.add_memory("mine", **name)
    done = await reme.export_markdown(folder, **name)
    return done.answer + _all_text(folder)


def _all_text(folder: Path) -> str:
    return "".join(path.read_text("utf-8") for path in folder.rglob("*.md"))


async def _imported_from_another(reme: VectorReMe, name: dict[str, str], folder: Path) -> str:
    await reme.export_markdown(folder / "of alice", user_name="alice")
    done = await reme.import_markdown(folder / "of alice", **name)
    return str(done) + str(await reme.list_memory(**name))


async def _used(reme: VectorReMe, name: dict[str, str]) -> str:
    retrieve, summarize = reme.tools(**name)
    found = await retrieve.call({"query": "my xylophone 4711"})
    return found.text + (await summarize.call({"facts": ["x"]})).text


BY_ID = {"get_memory", "delete_memory", "delete_all"}
"""These take an id, which is a secret itself, or mean everything."""
NOT_CALLS = {"start", "close"}
ADAPTERS = {"register_tools", "long_term_memory", "middleware"}
"""Made of `tools` and of the same recalling and recording; agents use them in their own tests."""

STRANGERS = [{"user_name": "bob"}, {"task_name": "alice"}, {"tool_name": "alice"}]


def test_the_table_covers_every_public_call() -> None:
    functions = inspect.getmembers(VectorReMe, inspect.isfunction)
    public = {name for name, _ in functions if not name.startswith("_")}
    assert public == set(CALLS) | BY_ID | NOT_CALLS | ADAPTERS


@pytest.mark.parametrize("call", list(CALLS))
@pytest.mark.parametrize("name", STRANGERS, ids=str)
async def test_strangers_see_and_change_nothing(
    open_memory: Open, tmp_path: Path, call: str, name: dict[str, str]
) -> None:
    learnt = drafts(f"owns a {SECRET}", profile={"instrument": SECRET})
    async with open_memory([learnt]) as reme:
        before = await reme.summarize_memory(TALK, user_name="alice")
        assert len(before) == 2
    async with open_memory() as reme:
        if call == "retrieve_profile" and "user_name" not in name:
            return  # only users have a profile, and alice is the owner
        for run in CALLS[call]:
            for node in before:
                try:
                    shown = str(await run(reme, name, Given(node.memory_id, tmp_path / call)))
                except ReMeError as error:
                    shown = str(error)
                assert SECRET not in shown
                assert await reme.get_memory(node.memory_id) == node


async def test_what_a_model_is_told_of_one_user_holds_nothing_of_another(
    open_memory: Open,
) -> None:
    script = Script([drafts(f"owns a {SECRET}", profile={"instrument": SECRET})])
    async with open_memory(script) as reme:
        await reme.summarize_memory(TALK, user_name="alice")
        script.add(drafts("owns a xylophone"))
        await reme.summarize_memory(
            [{"role": "user", "content": "I own a xylophone"}], user_name="bob"
        )
        script.add({"queries": ["xylophone"]}, {"answer": "a xylophone"})
        await reme.retrieve_memory("xylophone", user_name="bob")
    assert all(SECRET not in request.text for request in script.requests[1:])


async def test_a_user_a_task_and_a_tool_of_one_name(open_memory: Open) -> None:
    names = [{"user_name": "coding"}, {"task_name": "coding"}, {"tool_name": "coding"}]
    async with open_memory() as reme:
        made = [await reme.add_memory("the same words", **name) for name in names]
        for name in names:
            await reme.summarize_memory(TALK, **name)
        for name, node in zip(names, made, strict=True):
            assert await reme.list_memory(**name) == [node]
            histories = await reme.list_memory(**name, filters={"memory_type": "history"})
            assert len(histories) == 1
            found = await reme.retrieve_memory("the same words", **name, return_dict=True)
            assert found["retrieved_nodes"] == [node]
        assert len({node.memory_id for node in made}) == 3


@pytest.mark.parametrize("other", ["Alice", "alic\u00e9", "alice/..", "alice\u200b", "alice%", "*"])
async def test_names_that_look_alike_are_different_people(open_memory: Open, other: str) -> None:
    async with open_memory() as reme:
        for name in ("alice", "alice\u0301"):
            await reme.add_memory(SECRET, name)
        assert await reme.list_memory(other) == []
        assert SECRET not in await reme.retrieve_memory("xylophone", user_name=other)


async def test_names_that_cannot_be_written_are_refused_and_not_made_one(open_memory: Open) -> None:
    async with open_memory() as reme:
        for name in ("alice\ud800", "alice\udc00"):
            with pytest.raises(BadInput, match="not valid Unicode"):
                await reme.add_memory(SECRET, name)
        pair = await reme.add_memory("smiles", "alice\ud83d\ude00")  # two halves of one character
        assert await reme.list_memory("alice\U0001f600") == [pair]


async def test_a_conversation_of_two_users_is_kept_for_each(open_memory: Open) -> None:
    async with open_memory() as reme:
        await reme.summarize_memory(TALK, user_name=["alice", "bob"])
        for name in ("alice", "bob"):
            [history] = await reme.list_memory(name, filters={"memory_type": "history"})
            assert history.memory_target == name
            await reme.delete_memory(history.memory_id)
        assert (await reme.status()).details["nodes"]["history"] == 0
