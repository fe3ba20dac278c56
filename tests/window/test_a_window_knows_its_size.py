"""The working memory tells its size under the documented names and survives every session file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from agentscope.agent import ReActAgent
from agentscope.formatter import OpenAIChatFormatter
from agentscope.memory import InMemoryMemory
from agentscope.message import Msg
from agentscope.session import JSONSession

from agentscope_reme.agentscope_v1.scripted import ScriptedChatModel
from agentscope_reme.agentscope_v1.window_memory import WindowMemory
from agentscope_reme.context import IMAGE_TOKENS, estimate_tokens

CALL = {"type": "tool_use", "id": "1", "name": "read", "input": {"path": "a.md"}}
RESULT = {
    "type": "tool_result",
    "id": "1",
    "name": "read",
    "output": [{"type": "text", "text": "x"}],
}
IMAGE = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": "QUJD" * 100_000},
}


class Characters:
    """A counter whose tokens are characters, sync; it counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def count(self, messages: list[dict[str, Any]]) -> int:
        self.asked += 1
        return 7 + sum(len(message["content"]) for message in messages)


class Awaited(Characters):
    """The same, async."""

    async def count(self, messages: list[dict[str, Any]]) -> int:  # type: ignore[override]
        return super().count(messages)


class Encoder:
    """Only what the oldest hosts use of a counter: ``tokenizer.encode(text)``."""

    tokenizer: Any

    def __init__(self) -> None:
        self.tokenizer = self

    def encode(self, text: str) -> list[int]:
        return [ord(character) for character in text]


class Broken:
    """A counter whose vocabulary could not be loaded."""

    async def count(self, messages: list[dict[str, Any]]) -> int:
        raise OSError("no network")


async def a_window(counter: Any = None, length: int = 1_000) -> WindowMemory:
    memory = WindowMemory(token_counter=counter, max_input_length=length)
    await memory.add(Msg("user", "hello there", "user"))
    await memory.add(Msg("F", [{"type": "text", "text": "let me see"}, CALL], "assistant"))
    await memory.add(Msg("system", [RESULT], "system"))
    return memory


@pytest.mark.parametrize("counter", [Characters, Awaited, Encoder])
async def test_any_counter_is_asked_about_single_texts(counter: Any) -> None:
    memory = await a_window(counter())
    await memory.update_compressed_summary("so far")

    report = await memory.estimate_tokens()

    assert list(report) == [
        "total_messages",
        "compressed_summary_tokens",
        "messages_tokens",
        "estimated_tokens",
        "max_input_length",
        "context_usage_ratio",
        "messages_detail",
    ]
    assert report["total_messages"] == 3
    assert report["estimated_tokens"] == (
        report["messages_tokens"] + report["compressed_summary_tokens"]
    )
    assert report["context_usage_ratio"] == report["estimated_tokens"] / 10
    first, second, third = report["messages_detail"]
    assert first == {
        "index": 1,
        "role": "user",
        "text_tokens": len("hello there"),
        "blocks": [],
        "preview": "hello there",
    }
    said, call = second["blocks"]
    assert said == {"type": "text", "tokens": 10}
    assert call["type"] == "tool_use"
    assert call["tokens"] == len("read") + len('{"path": "a.md"}') + 4
    assert third["blocks"] == [{"type": "tool_result", "tokens": len("read") + 1}]


async def test_without_a_counter_the_estimate_of_this_library_is_used() -> None:
    report = await (await a_window()).estimate_tokens()
    assert report["messages_detail"][0]["text_tokens"] == estimate_tokens("hello there")


async def test_a_broken_counter_is_told_and_replaced() -> None:
    report = await (await a_window(Broken())).estimate_tokens()
    detail = report["messages_detail"][0]
    assert detail["error"] == "OSError: no network"
    assert detail["text_tokens"] == estimate_tokens("hello there")


async def test_unchanged_messages_are_not_counted_again() -> None:
    counter = Characters()
    memory = await a_window(counter)
    await memory.estimate_tokens()
    asked = counter.asked

    await memory.estimate_tokens()
    assert counter.asked == asked

    memory.content[0][0].content = "hello again"
    await memory.add(Msg("user", "more", "user"))
    report = await memory.estimate_tokens()
    assert counter.asked == asked + 2
    assert report["messages_detail"][0]["text_tokens"] == len("hello again")


@pytest.mark.parametrize("counter", [None, Characters()])
async def test_an_image_is_an_image_and_not_its_characters(counter: Any) -> None:
    memory = WindowMemory(token_counter=counter)
    await memory.add(Msg("user", [IMAGE], "user"))
    report = await memory.estimate_tokens()
    assert report["messages_detail"][0]["blocks"] == [{"type": "image", "tokens": IMAGE_TOKENS}]


async def test_without_a_known_length_the_ratio_is_nothing() -> None:
    assert (await (await a_window(length=0)).estimate_tokens())["context_usage_ratio"] == 0
    report = await (await a_window(length=0)).estimate_tokens(max_input_length=50)
    assert report["max_input_length"] == 50
    assert report["context_usage_ratio"] > 0


async def test_the_history_in_words() -> None:
    memory = await a_window(Characters())
    await memory.add(Msg("user", "long " * 40, "user"))
    assert await memory.get_history_str() == "\n".join(
        [
            "**Conversation History**",
            "",
            "- Total messages: 4",
            "- Estimated tokens: 266",
            "- Max input length: 1000",
            "- Context usage: 26.6%",
            "- Compressed summary tokens: 0",
            "",
            "[1] **user** (text_tokens=11)",
            "preview: hello there",
            "[2] **assistant** (text_tokens=10)",
            "content: [text(tokens=10), tool_use(tokens=24)]",
            "preview: let me see",
            "[3] **system** (text_tokens=0)",
            "content: [tool_result(tokens=5)]",
            "preview: ",
            "[4] **user** (text_tokens=200)",
            f"preview: {('long ' * 40)[:100]}...",
        ]
    )


@pytest.mark.parametrize(
    "content", [["just a string"], [{"text": "no type"}], [{"type": "file", "id": 7}], [None], []]
)
async def test_blocks_of_older_hosts_are_tolerated_everywhere(content: list[Any]) -> None:
    memory = WindowMemory()
    memory.load_state_dict(
        {"content": [[{**Msg("u", "", "user").to_dict(), "content": content}, []]]}
    )
    assert (await memory.estimate_tokens())["total_messages"] == 1
    assert "[1] **user**" in await memory.get_history_str()


async def test_summary_and_messages_can_be_forgotten_apart() -> None:
    memory = await a_window()
    await memory.update_compressed_summary("so far")
    assert memory.get_compressed_summary() == "so far"
    memory.clear_content()
    assert [msg.metadata for msg in await memory.get_memory()] == [{"agentscope_reme": "summary"}]
    memory.clear_compressed_summary()
    assert await memory.get_memory() == []


async def test_marked_messages_are_hidden_whatever_is_asked_for() -> None:
    memory = await a_window()
    first = memory.content[0][0]

    assert await memory.mark_messages_compressed([first]) == 1
    assert await memory.mark_messages_compressed([first]) == 0

    for exclude in (None, "compressed", "other"):
        assert first.id not in [m.id for m in await memory.get_memory(exclude_mark=exclude)]
    assert [m.id for m in await memory.get_memory(mark="compressed")] == [first.id]
    with pytest.raises(TypeError):
        await memory.get_memory(mark=1)  # type: ignore[arg-type]


async def test_the_saved_state_has_the_documented_keys_and_old_forms_load() -> None:
    memory = await a_window()
    await memory.mark_messages_compressed([memory.content[0][0]])
    state = json.loads(json.dumps(memory.state_dict()))
    assert set(state) == {"content", "_compressed_summary"}
    assert state["content"][0][1] == ["compressed"]

    again = WindowMemory()
    again.load_state_dict(state)
    assert again.state_dict() == state
    again.load_state_dict({"content": [Msg("u", "old form", "user").to_dict()]})
    assert again.get_compressed_summary() == ""
    assert (await again.get_memory())[0].content == "old form"
    with pytest.raises(KeyError):
        again.load_state_dict({})
    again.load_state_dict({}, strict=False)
    with pytest.raises(ValueError, match="Invalid"):
        again.load_state_dict({"content": ["nonsense"]})


async def test_a_session_file_of_agentscope_brings_everything_back(tmp_path: Path) -> None:
    def friday(memory: InMemoryMemory) -> ReActAgent:
        return ReActAgent("F", "", ScriptedChatModel([]), OpenAIChatFormatter(), memory=memory)

    session = JSONSession(str(tmp_path))
    before = friday(await a_window())
    before.memory.let_summary_stand("so far", {before.memory.content[0][0].id})
    await session.save_session_state("s", agent=before)

    for memory in (WindowMemory(), InMemoryMemory()):
        after = friday(memory)
        await session.load_session_state("s", agent=after)
        assert after.memory.state_dict() == before.memory.state_dict()


def test_an_empty_window_is_not_falsy() -> None:
    assert WindowMemory()
