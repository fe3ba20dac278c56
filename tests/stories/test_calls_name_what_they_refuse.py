"""An argument of a wrong kind is refused by its name, whatever the call."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from agentscope_reme import ReMe
from agentscope_reme.errors import BadInput

CALLS: list[tuple[str, dict[str, Any], str]] = [
    ("history", {"limit": "x"}, "limit"),
    ("history", {"limit": None}, "limit"),
    ("history", {"limit": 0}, "limit"),
    ("history", {"path": 5}, "path"),
    ("diff", {"change_id": 5}, "change_id"),
    ("undo", {"change_id": None}, "change_id"),
    ("search", {"query": "x", "filters": "x"}, "filters"),
    ("search", {"query": "x", "tags": 5}, "tags"),
    ("search", {"query": 5}, "query"),
    ("search", {"query": "x", "limit": "many"}, "limit"),
    ("node_search", {"query": "x", "limit": "many"}, "limit"),
    ("node_search", {"query": "x", "limit": 0}, "limit"),
    ("recall", {"query": "x", "budget_tokens": "many"}, "budget_tokens"),
    ("drain", {"deadline_seconds": "x"}, "deadline_seconds"),
]


@pytest.mark.parametrize(("call", "arguments", "named"), CALLS)
async def test_it_is_refused_and_named(
    open_memory: Callable[..., ReMe], call: str, arguments: dict[str, Any], named: str
) -> None:
    async with open_memory() as reme:
        with pytest.raises(BadInput, match=named):
            await getattr(reme, call)(**arguments)


@pytest.mark.parametrize("include", [5, "search", {"read": 1}])
def test_names_of_tools_come_as_a_list(open_memory: Callable[..., ReMe], include: Any) -> None:
    with pytest.raises(BadInput, match="include"):
        open_memory().tools(include=include)


async def test_every_tool_answers_with_whole_characters(open_memory: Callable[..., ReMe]) -> None:
    half = "\ud800"
    async with open_memory() as reme:
        await reme.write("digest/a.md", "text")
        for tool in reme.tools():
            schema = tool.json_schema()["properties"]
            odd = {name: [half] if name in ("keys", "tags") else half for name in schema}
            for path in (half, "digest/a.md"):
                given = {**odd, **({"path": path} if "path" in odd else {})}
                (await tool.call(given)).text.encode()


async def test_the_history_says_what_was_never_made(open_memory: Callable[..., ReMe]) -> None:
    async with open_memory() as reme:
        await reme.write("digest/a.md", "new")
        made = await reme.write("digest/b.md", "new")
        journal = next(reme.workspace.journal.glob("*.jsonl"))
        row = {"change_id": made.change_id, "at": "2026-06-20T09:30:00Z", "state": "aborted"}
        with journal.open("a", encoding="utf-8") as log:
            log.write(json.dumps(row) + "\n")
        first, second = (await reme.history()).answer.splitlines()
        assert first.endswith("digest/b.md  (never made)")
        assert second.endswith("digest/a.md")
