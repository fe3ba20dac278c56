"""What cannot work is refused where it is written, with words that say what to pass instead."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme import ReMe
from agentscope_reme.agentscope_line import installed_line
from agentscope_reme.errors import BadInput, BadMessage, NotFound
from agentscope_reme.testing import ScriptedChatModel
from tests.images.models import formatter
from tests.stories.agents import make_agent, say, with_memory_tools

Open = Callable[..., ReMe]


class StrangeModel:
    """The shape of a model of another line, or of another framework."""

    model_name = "strange"

    async def __call__(self, *args: Any, **kwargs: Any) -> None: ...


def embedding() -> Any:
    module: Any = import_module("agentscope.embedding")
    if installed_line() == 1:
        return module.OpenAITextEmbedding("secret-key", "m", dimensions=8)
    login: Any = import_module("agentscope.credential").OpenAICredential
    return module.OpenAIEmbeddingModel(login(api_key="secret-key"), "m", 8)


WRONG: list[tuple[str, Callable[[], Any]]] = [
    ("chat_model", lambda: "gpt-4o"),
    ("chat_model", lambda: ScriptedChatModel),
    ("chat_model", StrangeModel),
    ("chat_model", lambda: formatter("OpenAIChatFormatter")),
    ("chat_model", embedding),
    ("chat_model", lambda: 5),
    ("formatter", lambda: "openai"),
    ("formatter", lambda: ScriptedChatModel([])),
    ("formatter", lambda: type(formatter("OpenAIChatFormatter"))),
    ("embedding_model", lambda: "text-embedding"),
    ("embedding_model", lambda: ScriptedChatModel([])),
    ("embedding_model", lambda: type(embedding())),
]


@pytest.mark.parametrize(
    ("argument", "make"), WRONG, ids=[f"{name}-{n}" for n, (name, _) in enumerate(WRONG)]
)
@pytest.mark.parametrize("with_model", [False, True])
def test_a_wrong_model_or_formatter_is_refused_at_construction(
    tmp_path: Path, argument: str, make: Callable[[], Any], with_model: bool
) -> None:
    options = {"chat_model": ScriptedChatModel([])} if with_model else {}
    with pytest.raises(BadInput, match=f"`{argument}`") as refused:
        ReMe(tmp_path, **{**options, argument: make()})
    assert "secret-key" not in str(refused.value)
    assert not str(refused.value).startswith("'a ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"workspace_dir": 5}, "workspace"),
        ({"workspace_dir": ""}, "workspace"),
        ({"workspace_dir": None}, "workspace"),
        ({"workspace_dir": "no\0folder"}, "folder"),
        ({"workspace_dir": "~nobody-of-this-name/x"}, "folder"),
        ({"settings": {}}, "`settings`"),
        ({"settings": "x"}, "`settings`"),
        ({"clock": "x"}, "`clock`"),
        ({"timezone": 5}, "time zone"),
        ({"language": "fr"}, r"language.*\. Use en or zh\.$"),
        ({"user": 5}, "user"),
        ({"user": ""}, "user"),
    ],
)
def test_other_arguments_are_refused_by_name(
    tmp_path: Path, arguments: dict[str, Any], said: str
) -> None:
    arguments.setdefault("workspace_dir", tmp_path)
    with pytest.raises(BadInput, match=said):
        ReMe(**arguments)


async def test_a_date_is_asked_for_in_its_form(tmp_path: Path) -> None:
    async with ReMe(tmp_path) as reme:
        with pytest.raises(BadInput, match=r"Give `date` as YYYY-MM-DD\.$"):
            await reme.proactive(date="yesterday")
        with pytest.raises(BadInput, match=r"Give `start_date` as YYYY-MM-DD\.$"):
            await reme.search("tea", start_date="yesterday")


@pytest.mark.parametrize(
    "row",
    [
        {"role": "user"},
        {"role": "user", "content": None},
        {"role": "assistant"},
        {"role": "user", "name": "Ann", "id": "m"},
    ],
)
async def test_a_message_without_content_is_no_empty_turn(
    open_memory: Open, row: dict[str, Any]
) -> None:
    async with open_memory() as reme:
        with pytest.raises(BadMessage, match="`content`"):
            await reme.record("s", [row])
        assert not (reme.workspace.root / "session/dialog/s.jsonl").exists()
        silent = {"role": "assistant", "content": None}  # a provider's answer of a filter
        assert (await reme.record("s", [silent])).success


async def test_one_agent_is_one_conversation(open_memory: Open) -> None:
    async with open_memory() as reme:
        agent = make_agent(ScriptedChatModel(["one", "two", "three"]))
        first = reme.attach(agent, session_id="a", recall="off")
        with pytest.raises(BadInput, match="as the session 'a'"):
            reme.attach(agent, session_id="b", recall="off")
        again = reme.attach(agent, session_id="a", recall="off")
        await say(agent, "hello")
        log = (reme.workspace.root / "session/dialog/a.jsonl").read_text("utf-8")
        assert log.count("hello") == 1
        first.detach()
        with pytest.raises(BadInput, match="as the session 'a'"):
            reme.attach(agent, session_id="b", recall="off")
        again.detach()
        reme.attach(agent, session_id="b", recall="off")
        await say(agent, "goodbye")
        logs = {p.stem: p.read_text("utf-8") for p in reme.workspace.root.rglob("*.jsonl")}
    assert "goodbye" in logs["b"]
    assert "goodbye" not in logs["a"]


@pytest.mark.parametrize("session_id", ["", "../x"])
async def test_a_session_that_names_no_file_is_refused_by_attach(
    open_memory: Open, session_id: str
) -> None:
    async with open_memory() as reme:
        with pytest.raises(BadInput):
            reme.attach(make_agent(ScriptedChatModel([])), session_id=session_id)


async def test_two_memories_of_one_agent_each_have_their_session(
    open_memory: Open, tmp_path: Path
) -> None:
    async with open_memory() as one, ReMe(tmp_path / "other") as other:
        agent = make_agent(ScriptedChatModel(["hi", "bye"]))
        one.attach(agent, session_id="a", recall="off")
        other.attach(agent, session_id="b", recall="off")
        await say(agent, "hello")
        other.attach(agent, session_id="b", recall="off")
        await say(agent, "goodbye")
        for reme, session_id in ((one, "a"), (other, "b")):
            log = (reme.workspace.root / f"session/dialog/{session_id}.jsonl").read_text("utf-8")
            assert [log.count(word) for word in ("hello", "hi", "goodbye", "bye")] == [1, 1, 1, 2]


@pytest.mark.parametrize("toolkit", [None, "toolkit", [], 5])
async def test_what_is_no_toolkit_is_refused(open_memory: Open, toolkit: Any) -> None:
    async def register(reme: ReMe) -> None:
        done = reme.register_tools(toolkit)
        if installed_line() == 2:
            await done

    async with open_memory() as reme:
        with pytest.raises(BadInput, match="no toolkit"):
            await register(reme)


@pytest.mark.parametrize("include", ["search", ["search", 5], [["search"]], [{}]])
async def test_names_of_tools_are_texts(open_memory: Open, include: Any) -> None:
    async with open_memory() as reme:
        with pytest.raises(BadInput, match="list of names"):
            reme.tools(include=include)


@pytest.mark.parametrize("recall", ["sometimes", 5, [], {}, None])
async def test_a_kind_of_recall_that_is_none_is_refused(open_memory: Open, recall: Any) -> None:
    async with open_memory() as reme:
        with pytest.raises(BadInput, match="kind of recall"):
            reme.attach(make_agent(ScriptedChatModel([])), session_id="s", recall=recall)


@pytest.mark.parametrize("folder", ["no\0folder", "~nobody-of-this-name/x"])
async def test_transcripts_in_no_folder_are_refused(open_memory: Open, folder: str) -> None:
    async with open_memory() as reme:
        with pytest.raises(BadInput, match="folder"):
            await reme.auto_memory_cc(session_id="s", projects_dir=folder)


async def test_registering_tools_twice_names_them_twice(open_memory: Open) -> None:
    async with open_memory() as reme:
        toolkit = await with_memory_tools(reme)
        again = reme.register_tools(toolkit)
        names = await again if installed_line() == 2 else again
    assert names == [tool.name for tool in reme.tools()]


async def test_a_tool_gives_up_on_a_start_that_hangs(
    open_memory: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentscope_reme.runtime.starting.START_PATIENCE_SECONDS", 0.05)
    reme = open_memory()
    opened = asyncio.Event()
    start = reme._engine.start

    async def slow() -> None:
        await opened.wait()
        await start()

    monkeypatch.setattr(reme._engine, "start", slow)
    tools = {tool.name: tool for tool in reme.tools()}
    for name, arguments in (("memory_search", {"query": "x"}), ("list", {"path": ""})):
        answer = await tools[name].call(arguments)
        assert not answer.success
        assert "was not open after" in answer.text
    opened.set()
    await reme.start()
    assert (await tools["list"].call({"path": ""})).success
    await reme.close()
    assert "was closed" in (await tools["memory_search"].call({"query": "x"})).text


@pytest.mark.parametrize("toolkit", [None, "x", []])
async def test_what_is_no_toolkit_is_refused_by_the_call_itself(
    open_memory: Open, toolkit: Any
) -> None:
    async with open_memory() as reme:
        with pytest.raises(BadInput, match="no toolkit"):
            reme.register_tools(toolkit)


async def test_a_session_id_that_is_no_text_is_refused_everywhere(open_memory: Open) -> None:
    wrong: Any = 3
    async with open_memory() as reme:
        makers: list[Callable[..., Any]] = (
            [reme.memory, reme.long_term_memory] if installed_line() == 1 else [reme.middleware]
        )
        for make in makers:
            with pytest.raises(BadInput, match="session_id is no text"):
                make(session_id=wrong)
        with pytest.raises(BadInput, match="session_id is no text"):
            reme.attach(make_agent(ScriptedChatModel([])), session_id=wrong)


@pytest.mark.parametrize("folder", ["daily", "digest", "made"])
async def test_a_folder_is_not_read_but_listed(open_memory: Open, folder: str) -> None:
    async with open_memory() as reme:
        (reme.workspace.root / "made").mkdir()
        with pytest.raises(NotFound, match=r"this is a folder.*`list`"):
            await reme.read(folder)
