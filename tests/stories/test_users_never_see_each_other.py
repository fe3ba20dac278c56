"""One user's memory never reaches another, through any public call."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from agentscope_reme import ReMe
from agentscope_reme.agentscope_line import installed_line
from agentscope_reme.context import ResultLimits
from agentscope_reme.errors import ReMeError
from agentscope_reme.testing import ScriptedChatModel

SECRET = "xylophone-4711"
CARD = "daily/2026-06-20/secret.md"

Call = Callable[[ReMe], Any]

_RESULT_OF_SOMEBODY_ELSE = {
    "role": "system",
    "content": [
        {
            "type": "tool_result",
            "id": "1",
            "name": "read",
            "output": [{"type": "text", "text": "long " * 1000}],
            "omitted": f"../mei/{CARD} tool_result/../../mei/{CARD}",
        }
    ],
}

CALLS: dict[str, list[Call]] = {
    "search": [lambda r: r.search(SECRET), lambda r: r.search("xylophone", tags=["hidden"])],
    "recall": [lambda r: r.recall(SECRET)],
    "node_search": [lambda r: r.node_search(SECRET)],
    "auto_memory": [lambda r: r.auto_memory(), lambda r: r.auto_memory(session_id="chat")],
    "auto_memory_cc": [
        lambda r: r.auto_memory_cc(session_id="chat", projects_dir=r.workspace.root),
        lambda r: r.auto_memory_cc(session_id="../users/mei/session/claude_code/chat"),
    ],
    "auto_resource": [
        lambda r: r.auto_resource(),
        lambda r: r.auto_resource(["../mei/resource/2026-06-20/a.md", "users/mei/resource/a.md"]),
    ],
    "record": [lambda r: r.record("chat", [], distil=False)],
    "archive": [lambda r: r.archive("chat", [])],
    "summarise": [lambda r: r.summarise([{"role": "user", "content": "hello"}])],
    "offload_tool_results": [
        lambda r: r.offload_tool_results([{"role": "tool", "tool_call_id": "1", "content": "x"}]),
        lambda r: r.offload_tool_results([_RESULT_OF_SOMEBODY_ELSE], ResultLimits.everywhere(10)),
    ],
    "read": [lambda r: r.read(CARD), lambda r: r.read(f"../mei/{CARD}")],
    "read_image": [lambda r: r.read_image("../mei/resource/a.png")],
    "write": [lambda r: r.write("../mei/digest/wiki/x.md", "overwritten")],
    "edit": [lambda r: r.edit(CARD, "secret", "known")],
    "delete": [lambda r: r.delete(CARD), lambda r: r.delete("../mei")],
    "move": [lambda r: r.move(f"../mei/{CARD}", "digest/wiki/stolen.md")],
    "list": [lambda r: r.list("", recursive=True), lambda r: r.list("..")],
    "stat": [lambda r: r.stat(CARD), lambda r: r.stat("users/mei")],
    "frontmatter_read": [lambda r: r.frontmatter_read(CARD)],
    "frontmatter_update": [lambda r: r.frontmatter_update(CARD, {"a": 1})],
    "frontmatter_delete": [lambda r: r.frontmatter_delete(CARD, ["name"])],
    "daily_list": [lambda r: r.daily_list("2026-06-20")],
    "daily_write": [lambda r: r.daily_write("own", "d", "c", date="2026-06-21")],
    "daily_reindex": [lambda r: r.daily_reindex("2026-06-20")],
    "list_tags": [lambda r: r.list_tags()],
    "traverse": [lambda r: r.traverse(CARD, depth=3)],
    "graph_snapshot": [lambda r: r.graph_snapshot()],
    "reindex": [lambda r: r.reindex()],
    "optimize_index": [lambda r: r.optimize_index()],
    "status": [lambda r: r.status()],
    "doctor": [lambda r: r.doctor(repair=True)],
    "history": [lambda r: r.history()],
    "diff": [],  # needs a change id of the other user: see below
    "undo": [],
    "auto_dream": [lambda r: r.auto_dream(date="2026-06-20")],
    "proactive": [lambda r: r.proactive(date="2026-06-20")],
    "forget": [
        lambda r: r.forget(query=SECRET),
        lambda r: r.forget(query=SECRET, dry_run=False),
        lambda r: r.forget(path=CARD, dry_run=False),
        lambda r: r.forget(path=f"../mei/{CARD}", dry_run=False),
        lambda r: r.forget(path="users/mei", dry_run=False),
    ],
    "remember": [
        lambda r: r.remember("own words"),
        lambda r: r.remember("stolen", sources=[CARD]),
        lambda r: r.remember("stolen", sources=[f"../mei/{CARD}"]),
    ],
    "retention": [lambda r: r.retention(dry_run=False)],
    "drain": [lambda r: r.drain()],
}
NOT_CALLS = {
    "start",
    "close",
    "tools",
    "register_tools",
    "attach",
    "report_failure",
    "flush_soon",  # answers nothing: it only submits work
}
ADAPTERS = {"memory", "toolkit", "long_term_memory", "middleware"}


def test_the_table_covers_every_public_call() -> None:
    functions = inspect.getmembers(ReMe, inspect.isfunction)
    public = {name for name, _ in functions if not name.startswith("_")}
    assert public == set(CALLS) | NOT_CALLS | ADAPTERS


async def shown(call: Call, reme: ReMe) -> str:
    try:
        result = await call(reme)
    except ReMeError as error:
        return str(error)
    return result.model_dump_json() if hasattr(result, "model_dump_json") else str(result)


@pytest.mark.parametrize("bob", [{"user": "bob"}, {}], ids=["another user", "no user"])
async def test_no_call_shows_or_touches_what_belongs_to_another_user(
    open_memory: Callable[..., ReMe], bob: dict[str, str]
) -> None:
    async with open_memory(user="mei") as mei:
        await mei.record("chat", [{"role": "user", "content": SECRET}], distil=False)
        change = await mei.write(
            CARD, f"# Secret\n\n{SECRET} [[digest/wiki/b.md]]", metadata={"memory_tags": ["hidden"]}
        )
        before = {p: p.read_bytes() for p in mei.workspace.root.rglob("*.*") if p.is_file()}
        async with open_memory(**bob) as other:
            calls = [call for calls in CALLS.values() for call in calls]
            calls += [lambda r: r.diff(change.change_id), lambda r: r.undo(change.change_id)]
            for call in calls:
                answer = await shown(call, other)
                assert SECRET not in answer
                assert "hidden" not in answer.replace("'.hidden", "")
            for tool in other.tools():
                required = tool.args.model_json_schema().get("required", [])
                given = dict.fromkeys(required, CARD) | (
                    {"query": SECRET} if tool.name == "memory_search" else {}
                )
                if tool.name not in ("write", "daily_write"):
                    assert SECRET not in (await tool.call(given)).text
        documents = [p for p in before if "metadata" not in p.parts and ".locks" not in p.parts]
        assert {p: p.read_bytes() for p in documents} == {p: before[p] for p in documents}
        assert (await mei.search(SECRET)).hits


async def test_the_adapters_of_a_user_reach_only_that_user(
    open_memory: Callable[..., ReMe],
) -> None:
    async with open_memory(user="mei") as mei:
        await mei.write(CARD, SECRET)
    from tests.stories.agents import make_agent, say

    model = ScriptedChatModel(["I do not know."])
    async with open_memory(user="bob") as bob:
        if installed_line() == 1:
            agent = make_agent(model, toolkit=bob.toolkit())
            agent.memory = bob.memory(session_id="s")
            bob.attach(agent, session_id="s")
        else:
            agent = make_agent(model)
            bob.attach(agent, session_id="s")
        await say(agent, f"What is {SECRET}?")
    assert CARD not in model.requests[0].text
    assert "recalled-memory" not in model.requests[0].text
