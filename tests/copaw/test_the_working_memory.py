"""`CoPawInMemoryMemory`: what hosts read from it, and what a model gets to see."""

from __future__ import annotations

from typing import Any

import pytest
from agentscope.agent import ReActAgent
from agentscope.formatter import OpenAIChatFormatter
from agentscope.memory import InMemoryMemory
from agentscope.message import Msg, ToolResultBlock, ToolUseBlock

from agentscope_reme import CoPawInMemoryMemory
from agentscope_reme.errors import BadInput
from agentscope_reme.testing import ScriptedChatModel
from tests.copaw.conftest import Open


class Words:
    """A token counter of the kind hosts use: only ``tokenizer.encode`` counts."""

    class Tokenizer:
        def encode(self, text: str) -> list[str]:
            return text.split()

    tokenizer = Tokenizer()


class Broken:
    class Tokenizer:
        def encode(self, text: str) -> list[str]:
            raise ValueError("no vocabulary")

    tokenizer = Tokenizer()


def memory(**options: Any) -> CoPawInMemoryMemory:
    options = {"token_counter": Words(), "formatter": OpenAIChatFormatter(), **options}
    return CoPawInMemoryMemory(**options)


def talk(count: int = 4) -> list[Msg]:
    return [
        Msg(("user", "Friday")[n % 2], f"turn {n}", ("user", "assistant")[n % 2])
        for n in range(count)
    ]


async def test_compressed_messages_are_in_no_prompt(open_copaw: Open) -> None:
    """Agents of AgentScope ask with ``exclude_mark=None`` when their own compression is off."""
    async with open_copaw() as copaw:
        window = copaw.get_in_memory_memory()
        said = talk()
        await window.add(said)
        assert await window.mark_messages_compressed(said[:2]) == 2
        await window.update_compressed_summary("## Goal\nTea.")
        model = ScriptedChatModel(["ok"])
        agent = ReActAgent("Friday", "You help.", model, OpenAIChatFormatter(), memory=window)
        await agent(Msg("user", "turn 4", "user"))
    prompt = model.requests[0].text
    assert prompt.count("## Goal") == 1
    assert "turn 0" not in prompt
    assert "turn 1" not in prompt
    assert prompt.index("## Goal") < prompt.index("turn 2") < prompt.index("turn 4")


@pytest.mark.parametrize("exclude", [{}, {"exclude_mark": None}, {"exclude_mark": "compressed"}])
async def test_hidden_messages_are_shown_only_to_who_asks_for_them(exclude: Any) -> None:
    window = memory()
    said = talk()
    await window.add(said)
    await window.mark_messages_compressed(said[:2])
    assert [m.content for m in await window.get_memory(**exclude)] == ["turn 2", "turn 3"]
    hidden = await window.get_memory(mark="compressed", exclude_mark=None)
    assert [m.content for m in hidden] == ["turn 0", "turn 1"]
    with pytest.raises(TypeError):
        await window.get_memory(mark=7)  # type: ignore[arg-type]


async def test_the_summary_stands_in_front_wrapped_as_what_it_is() -> None:
    window = memory()
    await window.add(talk(1))
    assert window.get_compressed_summary() == ""
    await window.update_compressed_summary("Tea at four.")
    first, _ = await window.get_memory()
    assert first.role == "user"
    assert "<previous-summary>\nTea at four.\n</previous-summary>" in str(first.content)
    assert len(await window.get_memory(prepend_summary=False)) == 1
    window.clear_compressed_summary()
    assert len(await window.get_memory()) == 1


async def test_duplicates_are_dropped_and_what_was_added_is_a_copy() -> None:
    window = memory()
    (msg,) = talk(1)
    await window.add([msg, msg])
    await window.add(msg)
    msg.content = "changed"
    assert [m.content for m in await window.get_memory()] == ["turn 0"]
    window.clear_content()
    assert window.content == []


async def test_the_size_of_a_window_under_the_documented_keys() -> None:
    window = memory(max_input_length=1000)
    call = ToolUseBlock(type="tool_use", id="1", name="look", input={"at": "tea"})
    result = ToolResultBlock(type="tool_result", id="1", name="look", output="green tea")
    await window.add([Msg("user", "x" * 150, "user"), Msg("Friday", [call], "assistant")])
    await window.add(Msg("system", [result], "system"))
    await window.update_compressed_summary("some words")
    stats = await window.estimate_tokens()
    assert list(stats) == [
        *("total_messages", "compressed_summary_tokens", "messages_tokens", "estimated_tokens"),
        *("max_input_length", "context_usage_ratio", "messages_detail"),
    ]
    assert stats["total_messages"] == 3
    assert stats["compressed_summary_tokens"] > 2
    total = stats["compressed_summary_tokens"] + stats["messages_tokens"]
    assert stats["estimated_tokens"] == total
    assert stats["context_usage_ratio"] == pytest.approx(total / 10)
    first, second, third = stats["messages_detail"]
    assert (first["index"], first["role"], first["text_tokens"]) == (1, "user", 1)
    assert first["preview"] == "x" * 100 + "..."
    assert [block["type"] for block in second["blocks"]] == ["tool_use"]
    assert third["blocks"][0]["tokens"] >= 2
    assert (await memory().estimate_tokens())["context_usage_ratio"] == 0


async def test_a_counter_that_fails_is_named_and_replaced_by_an_estimate() -> None:
    window = memory(token_counter=Broken())
    await window.add(Msg("user", "some words to count", "user"))
    (detail,) = (await window.estimate_tokens())["messages_detail"]
    assert detail["text_tokens"] > 0
    assert "no vocabulary" in detail["error"]


async def test_a_picture_counts_as_a_picture() -> None:
    window = memory(token_counter=None)
    source = {"type": "base64", "media_type": "image/png", "data": "A" * 400_000}
    await window.add(Msg("user", [{"type": "image", "source": source}], "user"))  # type: ignore[list-item]
    assert (await window.estimate_tokens())["messages_tokens"] < 3000


async def test_the_history_for_a_person() -> None:
    window = memory(max_input_length=100)
    await window.add(Msg("user", "tea with milk", "user"))
    lines = (await window.get_history_str()).split("\n")
    assert lines[0] == "**Conversation History**"
    bullets = [line for line in lines if line.startswith("- ")]
    assert [line.split(":")[0] for line in bullets] == [
        *("- Total messages", "- Estimated tokens", "- Max input length", "- Context usage"),
        "- Compressed summary tokens",
    ]
    assert bullets[3].endswith("%")
    assert lines[-2:] == ["[1] **user** (text_tokens=3)", "preview: tea with milk"]


async def test_saved_and_loaded_with_marks_and_summary() -> None:
    window = memory()
    said = talk()
    await window.add(said)
    await window.mark_messages_compressed(said[:1])
    await window.update_compressed_summary("Tea.")
    state = window.state_dict()
    assert set(state) == {"content", "_compressed_summary"}
    assert [marks for _, marks in state["content"]] == [["compressed"], [], [], []]
    for other in (memory(), InMemoryMemory()):
        other.load_state_dict(state)
        assert other.state_dict() == state


async def test_older_states_load_and_broken_ones_are_refused() -> None:
    window = memory()
    (msg,) = talk(1)
    window.load_state_dict({"content": [msg.to_dict()]})
    assert [m.content for m in await window.get_memory()] == ["turn 0"]
    window.load_state_dict({"content": [(msg.to_dict(), ["compressed"])]})
    assert await window.get_memory() == []
    with pytest.raises(KeyError):
        window.load_state_dict({})
    window.load_state_dict({}, strict=False)
    with pytest.raises(ValueError, match="no saved window"):
        window.load_state_dict({"content": ["what?"]})


async def test_a_broken_state_leaves_the_window_as_it_was() -> None:
    window = memory()
    await window.add(talk(2))
    await window.update_compressed_summary("Tea.")
    before = window.state_dict()
    good = talk(1)[0].to_dict()
    broken: list[Any] = [{"bad": 1}, [good, [], "more"], [good, 7], None, [None, []]]
    for entry in broken:
        with pytest.raises(ValueError, match="no saved window"):
            window.load_state_dict({"content": [good, entry], "_compressed_summary": "Other."})
        assert window.state_dict() == before
    with pytest.raises(ValueError, match="no saved window"):
        window.load_state_dict({"content": None})
    assert window.state_dict() == before


@pytest.mark.parametrize(
    ("marks", "taken"), [("compressed", ["compressed"]), (None, []), (("a", "b"), ["a", "b"])]
)
async def test_marks_that_are_no_list_are_understood(marks: Any, taken: list[str]) -> None:
    window = memory()
    window.load_state_dict({"content": [[talk(1)[0].to_dict(), marks]]})
    assert [found for _, found in window.content] == [taken]


async def test_a_message_that_is_given_twice_stays_where_it_first_stood() -> None:
    window = memory()
    first, second = talk(2)
    await window.add([first, second, first])
    assert [msg.id for msg in await window.get_memory()] == [first.id, second.id]


async def test_a_block_of_an_older_host_is_tolerated() -> None:
    window = memory()
    odd: Any = ["a bare text", {"text": "no type"}, {"type": "file", "url": "x"}, None]
    msg = Msg("user", "", "user")
    msg.content = odd
    await window.add(msg)
    assert (await window.estimate_tokens())["total_messages"] == 1
    assert "**user**" in await window.get_history_str()


def test_it_is_made_as_slash_commands_make_it() -> None:
    made = CoPawInMemoryMemory(token_counter=None, formatter=None, max_input_length=5)
    assert isinstance(made, InMemoryMemory)
    assert (made.max_input_length, made.formatter) == (5, None)


@pytest.mark.parametrize("messages", [None, 5, "hello"])
async def test_what_is_no_list_of_messages_is_refused(open_copaw: Open, messages: Any) -> None:
    async with open_copaw() as copaw:
        with pytest.raises(BadInput, match="`messages` must be a list"):
            await copaw.check_context(messages)
