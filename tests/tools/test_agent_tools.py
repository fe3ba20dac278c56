"""Tools for agents: lenient with slips, never raising, always within the cap."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from agentscope_reme.errors import ReMeError, StorageFailed
from agentscope_reme.messages import DataBlock
from agentscope_reme.ports import Tool, ToolOutput
from agentscope_reme.results import SearchResult
from agentscope_reme.tools import AGENT, file_tools, search_tool
from tests.tools.conftest import Desk

PNG = b"\x89PNG\r\n\x1a\nrest"


class Hands:
    """An agent that calls tools by name, with whatever its model wrote."""

    def __init__(self, tools: list[Tool]) -> None:
        self.tools = {tool.name: tool for tool in tools}

    async def call(self, tool: str, **arguments: Any) -> ToolOutput:
        return await self.tools[tool].call(arguments)


@pytest.fixture
def hands(desk: Desk) -> Hands:
    return Hands(file_tools(desk.operations(AGENT)))


def test_the_tools_and_which_of_them_only_read(hands: Hands) -> None:
    assert {name: tool.read_only for name, tool in hands.tools.items()} == {
        "read": True,
        "read_image": True,
        "write": False,
        "edit": False,
        "delete": False,
        "move": False,
        "list": True,
        "stat": True,
        "frontmatter_read": True,
        "frontmatter_update": False,
        "frontmatter_delete": False,
        "daily_list": True,
        "daily_write": False,
    }


def test_every_argument_is_described_to_the_model(hands: Hands) -> None:
    for tool in hands.tools.values():
        schema = tool.json_schema()
        assert tool.description
        assert schema["type"] == "object"
        for name, field in schema["properties"].items():
            assert field.get("description"), f"{tool.name}.{name}"


async def test_every_tool_does_what_its_operation_does(desk: Desk, hands: Hands) -> None:
    desk.put("resource/x.png", PNG)
    done = [
        await hands.call("write", path="digest/x.md", content="one", name="X"),
        await hands.call("edit", path="digest/x.md", old="one", new="two"),
        await hands.call("read", path="digest/x.md"),
        await hands.call("frontmatter_read", path="digest/x.md"),
        await hands.call("frontmatter_update", path="digest/x.md", metadata={"k": 1}),
        await hands.call("frontmatter_delete", path="digest/x.md", keys=["k"]),
        await hands.call("stat", path="digest/x.md"),
        await hands.call("list", path="digest"),
        await hands.call("move", src="digest/x.md", dst="digest/y.md"),
        await hands.call("delete", path="digest/y.md"),
        await hands.call("daily_write", name="n", description="d", content="c", session_id="s"),
        await hands.call("daily_list"),
        await hands.call("read_image", path="resource/x.png"),
    ]
    assert [output.success for output in done] == [True] * len(done)
    assert done[2].text == "---\nname: X\n---\ntwo"
    assert done[3].text == "name: X"
    assert "daily/2026-06-20/n.md" in done[11].text


async def test_a_picture_comes_as_a_block_and_not_as_text(desk: Desk, hands: Hands) -> None:
    desk.put("resource/x.png", PNG)
    output = await hands.call("read_image", path="resource/x.png")
    assert output.blocks == (DataBlock(media_type="image/png", data="iVBORw0KGgpyZXN0"),)
    assert "iVBOR" not in output.text


async def test_obvious_slips_of_models_are_understood(desk: Desk, hands: Hands) -> None:
    desk.put("digest/x.md", "1\n2\n3\n4\n5\n6\n")
    sliced = await hands.call("read", path="digest/x.md", start_line="5", end_line="null")
    assert sliced.text == "5\n6\n[Lines 5-6 of 6.]"
    loose = await hands.call("read", path="digest/x.md", start_line="", neighbors="false")
    assert loose.success

    updated = await hands.call("frontmatter_update", path="digest/x.md", metadata='{"a": [1]}')
    assert "a:\n- 1" in updated.text
    removed = await hands.call("frontmatter_delete", path="digest/x.md", keys="a")
    assert removed.text.startswith("Removed a from")
    card = await hands.call(
        "daily_write", name=2026, description="d", content="c", session_id="none", unknown="x"
    )
    assert card.text.startswith("Created daily/2026-06-20/2026.md")


async def test_wrong_arguments_are_explained_in_words(hands: Hands) -> None:
    output = await hands.call("read", start_line="five")
    assert not output.success
    assert output.text.startswith("read was not run, its arguments do not fit: path: ")
    assert "start_line: " in output.text
    assert not (await hands.call("frontmatter_update", path="x.md", metadata="a=1")).success


async def test_half_characters_of_a_model_do_not_come_back(hands: Hands) -> None:
    half = "a\ud800b"
    for output in (
        await hands.call("write", path="digest/x.md", content="x", metadata={half: 1}),
        await hands.call("frontmatter_delete", path="digest/x.md", keys=[half]),
        await hands.call("read", path=half),
    ):
        output.text.encode("utf-8")


async def test_what_an_operation_refuses_is_told_word_for_word(desk: Desk, hands: Hands) -> None:
    desk.put("session/dialog/a.jsonl", "{}\n")
    output = await hands.call("delete", path="session/dialog/a.jsonl")
    with pytest.raises(ReMeError) as refusal:
        desk.operations(AGENT).delete("session/dialog/a.jsonl")
    assert (output.success, output.text) == (False, str(refusal.value))


async def test_a_validated_instance_is_taken_as_it_is(desk: Desk, hands: Hands) -> None:
    desk.put("digest/x.md", "text\n")
    tool = hands.tools["read"]
    assert (await tool.call(tool.args(path="digest/x.md"))).text == "text"


async def test_answers_stay_within_the_cap(desk: Desk) -> None:
    desk = desk.with_answer_bytes(1024)
    desk.put("digest/x.md", "word " * 100_000)
    hands = Hands(file_tools(desk.operations(AGENT)))
    for output in (
        await hands.call("read", path="digest/x.md"),
        await hands.call("edit", path="digest/x.md", old="y" * 50_000, new="z"),
        await hands.call("read", path="x" * 50_000),
    ):
        assert len(output.text.encode()) <= 1024


async def test_file_work_leaves_the_event_loop(desk: Desk, hands: Hands) -> None:
    threads: list[int] = []
    inner = desk.view.paths

    def paths(prefix: str = "") -> list[str]:
        threads.append(threading.get_ident())
        return inner(prefix)

    desk.view.paths = paths  # type: ignore[method-assign]
    await hands.call("list")
    assert threads
    assert threading.get_ident() not in threads


async def _found(**arguments: Any) -> SearchResult:
    return SearchResult(answer=repr(sorted(arguments.items())))


async def test_the_search_tool_passes_what_it_was_asked() -> None:
    tool = search_tool(_found)
    assert (tool.name, tool.read_only) == ("memory_search", True)
    output = await tool.call({"query": "login", "limit": "500", "tags": "a, b", "end_date": ""})
    assert output.text == repr(
        [
            ("end_date", None),
            ("limit", 50),
            ("path_prefix", None),
            ("query", "login"),
            ("start_date", None),
            ("tags", ["a", "b"]),
        ]
    )


async def test_a_surprise_is_told_shortly_and_reported() -> None:
    reported: list[tuple[str, BaseException]] = []

    async def broken(**arguments: Any) -> SearchResult:
        raise ZeroDivisionError("division by zero")

    tool = search_tool(broken, on_failure=lambda where, error: reported.append((where, error)))
    output = await tool.call({"query": "x"})
    assert not output.success
    assert output.text == "memory_search failed: ZeroDivisionError: division by zero"
    assert [(where, type(error)) for where, error in reported] == [
        ("memory_search", ZeroDivisionError)
    ]


async def test_a_refusing_disk_is_told_and_reported() -> None:
    reported: list[str] = []

    async def full(**arguments: Any) -> SearchResult:
        raise StorageFailed("index.db", "the disk is full", "Make room.")

    tool = search_tool(full, on_failure=lambda where, error: reported.append(where))
    assert (await tool.call({"query": "x"})).text == "'index.db': the disk is full. Make room."
    assert reported == ["memory_search"]


async def test_a_long_search_answer_is_cut_with_advice() -> None:
    async def much(**arguments: Any) -> SearchResult:
        return SearchResult(answer="é" * 100_000)

    output = await search_tool(much, answer_bytes=1000).call({"query": "x"})
    assert len(output.text.encode()) <= 1000
    assert output.text.endswith("a narrower path, a line range or a smaller limit.]")


async def test_cancellation_passes_through() -> None:
    started = asyncio.Event()

    async def endless(**arguments: Any) -> SearchResult:
        started.set()
        await asyncio.Event().wait()
        raise AssertionError

    task = asyncio.ensure_future(search_tool(endless).call({"query": "x"}))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
