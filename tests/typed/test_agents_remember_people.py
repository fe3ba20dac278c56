"""Real agents of the installed line look up, remember and record for one user, named by code."""

from __future__ import annotations

from typing import Any

import pytest

from agentscope_reme import VectorReMe
from agentscope_reme.agentscope_line import installed_line
from agentscope_reme.errors import BadInput
from agentscope_reme.testing import Request, Script, ScriptedChatModel, ToolCall
from tests.loopback.server import LoopbackProvider
from tests.stories.agents import make_agent, say
from tests.typed.conftest import Open
from tests.typed.talks import ADD, decisions, drafts

HISTORY = {"memory_type": "history"}


def remembering_agent(model: Any, reme: VectorReMe, **options: Any) -> Any:
    """An agent whose every reply recalls from, and is recorded for, one target."""
    if installed_line() == 1:
        from agentscope.agent import ReActAgent
        from agentscope.formatter import OpenAIChatFormatter

        mode = options.pop("mode", "static_control")
        return ReActAgent(
            "Friday",
            "You are helpful.",
            model,
            OpenAIChatFormatter(),
            long_term_memory=reme.long_term_memory(**options),
            long_term_memory_mode="static_control" if mode == "static" else mode,
        )
    agent = make_agent(model)
    options.setdefault("mode", "static")
    middleware = reme.middleware(**options)
    return _with_middleware(agent, middleware)


def _with_middleware(agent: Any, middleware: Any) -> Any:
    from agentscope import agent as agents

    options: dict[str, Any] = {}
    if hasattr(agents, "InjectionConfig"):
        options["injection_config"] = agents.InjectionConfig(inject_runtime_state=False)
    return agents.Agent(
        "Friday", "You are helpful.", agent.model, middlewares=[middleware], **options
    )


async def toolkit_for(reme: VectorReMe, **options: Any) -> Any:
    from agentscope.tool import Toolkit

    toolkit = Toolkit()
    registered = reme.register_tools(toolkit, **options)
    if installed_line() == 2:
        await registered
    return toolkit


async def test_an_agent_looks_up_and_remembers_by_tools(open_memory: Open) -> None:
    def quote(request: Request) -> str:
        assert "green tea" in request.text
        return "Green tea."

    model = ScriptedChatModel(
        [
            ToolCall("retrieve_memory", {"query": "what does alice drink"}),
            ToolCall("summarize_memory", {"facts": ["Alice has a cat called Tom."]}),
            quote,
        ]
    )
    script = Script([drafts("Alice has a cat called Tom."), decisions(ADD)])
    async with open_memory(script) as reme:
        await reme.add_memory("Bob drinks beer.", "bob")
        await reme.add_memory("Alice drinks green tea.", "alice")
        agent = make_agent(model, toolkit=await toolkit_for(reme, user_name="alice"))
        assert await say(agent, "What do I drink?") == "Green tea."
        assert await reme.drain()
        assert len(await reme.list_memory("alice")) == 2
    assert "beer" not in model.requests[-1].text
    assert set(model.requests[0].tool_names) >= {"retrieve_memory", "summarize_memory"}


async def test_a_model_cannot_choose_whose_memory_it_is(open_memory: Open) -> None:
    async with open_memory() as reme:
        await reme.add_memory("Bob's secret is xylophone.", "bob")
        retrieve, summarize = reme.tools(user_name="alice")
        shown = retrieve.json_schema()["properties"]
        assert set(shown) == {"query", "limit"}
        refused = await retrieve.call({"query": "secret", "user_name": "bob"})
        assert not refused.success
        assert "do not fit" in refused.text
        found = await retrieve.call({"query": "Bob's secret"})
        assert "xylophone" not in found.text
        kept = await summarize.call({"facts": ["mine"]})
        assert kept.text == "Saved."
        assert (await summarize.call({"facts": ["mine"]})).text == "Saved already."
        assert not (await summarize.call({"facts": ["  "]})).success
        assert await reme.list_memory("bob", filters=HISTORY) == []
        assert len(await reme.list_memory("alice", filters=HISTORY)) == 1
        assert [t.name for t in reme.tools(user_name="alice", read_only=True)] == [
            "retrieve_memory"
        ]
        with pytest.raises(BadInput, match="exactly one"):
            reme.tools()
        with pytest.raises(BadInput, match="no such tools"):
            reme.tools(user_name="alice", include=["fly"])


async def test_what_is_known_reaches_the_prompt_and_the_turn_is_learnt(open_memory: Open) -> None:
    model = ScriptedChatModel(["Then green tea."])
    async with open_memory(
        [drafts("Alice is thirsty today.", profile={"mood": "thirsty"})]
    ) as reme:
        agent = remembering_agent(model, reme, user_name="alice")
        await say(agent, "I am thirsty, what do I drink?")
        assert await reme.drain()
        [history] = await reme.list_memory("alice", filters=HISTORY)
        assert "I am thirsty" in history.content
        assert [n.content for n in await reme.list_memory("alice")] == ["Alice is thirsty today."]
        assert await reme.list_memory("bob", filters=HISTORY) == []


async def test_recalled_memories_stand_in_the_prompt_and_are_not_recorded(
    open_memory: Open,
) -> None:
    model = ScriptedChatModel(["Green tea."])
    async with open_memory() as reme:
        node = await reme.add_memory("Alice drinks green tea.", "alice")
        agent = remembering_agent(model, reme, user_name="alice")
        assert await say(agent, "What does Alice drink?") == "Green tea."
        assert node.memory_id in model.requests[0].text
        [history] = await reme.list_memory("alice", filters=HISTORY)
        assert node.memory_id not in history.content
        assert "Green tea." in history.content


async def test_two_users_of_one_memory(open_memory: Open) -> None:
    async with open_memory() as reme:
        await reme.add_memory("the pass is swordfish", "alice")
        await reme.add_memory("the pass is trout", "bob")
        for name, own, other in (("alice", "swordfish", "trout"), ("bob", "trout", "swordfish")):
            model = ScriptedChatModel(["Noted."])
            await say(remembering_agent(model, reme, user_name=name), "what is the pass?")
            assert own in model.requests[0].text
            assert other not in model.requests[0].text


async def test_a_broken_memory_never_costs_a_reply(open_memory: Open) -> None:
    model = ScriptedChatModel(["Fine."])
    reme = open_memory()
    agent = remembering_agent(model, reme, user_name="alice")
    await reme.start()
    await reme.close()
    assert await say(agent, "hello") == "Fine."


async def test_the_background_model_speaks_over_a_real_socket(
    open_memory: Open, provider: LoopbackProvider
) -> None:
    provider.reply("Then tea.")
    provider.reply(structured=drafts("Alice is thirsty."))
    config = {"backend": "openai", "model_name": "m", "api_key": "k"}
    reme = open_memory(default_llm_config={**config, "base_url": provider.openai_url})
    async with reme:
        from agentscope_reme.facade.configured_models import chat_model_of

        model, _ = chat_model_of({**config, "base_url": provider.openai_url})
        agent = remembering_agent(model, reme, user_name="alice")
        assert await say(agent, "I am thirsty") == "Then tea."
        assert await reme.drain()
        [fact] = await reme.list_memory("alice")
        assert (fact.content, fact.author) == ("Alice is thirsty.", "m")


@pytest.mark.parametrize("call", ["long_term_memory" if installed_line() == 2 else "middleware"])
def test_the_adapter_of_the_other_line_names_the_one_to_use(open_memory: Open, call: str) -> None:
    with pytest.raises(ImportError, match="use VectorReMe"):
        getattr(open_memory(), call)(user_name="alice")


def messages_with_a_failed_call() -> list[Any]:
    """What an agent of the installed line has in its window after a tool failed."""
    from agentscope import message as scope

    if installed_line() == 1:
        call = scope.ToolUseBlock(type="tool_use", id="1", name="search", input={"q": "tea"})
        output: Any = [scope.TextBlock(type="text", text="Error: no network")]
        result = scope.ToolResultBlock(type="tool_result", id="1", name="search", output=output)
        return [
            scope.Msg("user", "Find tea.", "user"),
            scope.Msg("Friday", [call], "assistant"),
            scope.Msg("system", [result], "system"),
        ]
    call = scope.ToolCallBlock(id="1", name="search", input='{"q": "tea"}')
    result = scope.ToolResultBlock(
        id="1",
        name="search",
        output=[scope.TextBlock(text="no network")],
        state=scope.ToolResultState.ERROR,
    )
    reply = scope.AssistantMsg("Friday", [call, result])
    return [scope.UserMsg("user", "Find tea."), reply]


async def test_messages_of_agentscope_are_understood(open_memory: Open) -> None:
    window = messages_with_a_failed_call()
    async with open_memory() as reme:
        done = await reme.summarize_memory(window, user_name="alice", return_dict=True)
        assert "Find tea." in str(done["messages"])
        [counts] = await reme.summarize_memory(window, tool_name="search")
        assert [counts.metadata[key] for key in ("calls", "successes", "failures")] == [1, 0, 1]
        assert await reme.summarize_memory(window, tool_name="search") == []
