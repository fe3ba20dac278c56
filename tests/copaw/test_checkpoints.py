"""``compact_memory`` gives a checkpoint or raises: hosts hide the messages after any answer."""

from __future__ import annotations

from typing import Any

import pytest
from agentscope.message import Msg

from agentscope_reme import CoPawInMemoryMemory, ReMeCopaw
from agentscope_reme.errors import BadInput, BadMessage, ModelFailed, ModelRequired, ReMeError
from agentscope_reme.testing import ScriptedChatModel
from tests.copaw.conftest import Open

SAID = [
    Msg("user", "Please write the importer for PostgreSQL.", "user"),
    Msg("Friday", "I began with reader.py.", "assistant"),
]
EN = "## Goal\nImporter.\n\n## Progress\nBegun.\n\n## Next Steps\n1. Tests."
ZH = "## 目标\n导入器。\n\n## 进展\n已开始。\n\n## 下一步\n1. 测试。"
OLD = EN.replace("Importer", "Exporter")


@pytest.mark.parametrize(
    ("language", "answer", "word"),
    [("", EN, "## Constraints"), ("zh", ZH, "## 约束")],
    ids=["en", "zh"],
)
async def test_the_checkpoint_has_its_sections_in_either_language(
    open_copaw: Open, language: str, answer: str, word: str
) -> None:
    model = ScriptedChatModel([answer])
    async with open_copaw(model, language=language) as copaw:
        assert await copaw.compact_memory(messages=SAID) == answer
    prompt = model.requests[0].text
    assert word in prompt
    assert "Please write the importer for PostgreSQL." in prompt


async def test_the_previous_summary_is_merged_and_a_wish_is_passed_on(open_copaw: Open) -> None:
    model = ScriptedChatModel([EN])
    async with open_copaw(model) as copaw:
        made = await copaw.compact_memory(
            SAID, previous_summary=OLD, extra_instruction="Keep the colours."
        )
    assert made == EN
    assert "Exporter" in model.requests[0].text
    assert "Keep the colours." in model.requests[0].text


@pytest.mark.parametrize("previous", ["", OLD])
async def test_without_messages_no_model_is_asked(open_copaw: Open, previous: str) -> None:
    async with open_copaw() as copaw:
        assert await copaw.compact_memory([], previous_summary=previous) == previous


@pytest.mark.parametrize("previous", ["", OLD], ids=["first", "incremental"])
@pytest.mark.parametrize(
    "step", [RuntimeError("Connection error"), ""], ids=["an error", "nothing at all"]
)
async def test_a_failing_model_raises_and_the_next_call_asks_it_again(
    open_copaw: Open, previous: str, step: Any
) -> None:
    async with open_copaw([step, EN]) as copaw:
        with pytest.raises(ModelFailed):
            await copaw.compact_memory(SAID, previous_summary=previous)
        status = await copaw.status()
        assert status.failures == {"compact_memory": 1}
        assert await copaw.compact_memory(SAID, previous_summary=previous) == EN


async def test_without_a_model_it_raises(open_copaw: Open) -> None:
    async with open_copaw(None) as copaw:
        with pytest.raises(ModelRequired):
            await copaw.compact_memory(SAID, previous_summary=OLD)


async def test_a_host_that_commits_any_answer_loses_nothing_when_the_model_fails(
    open_copaw: Open,
) -> None:
    """The order of CoPaw's own hook: compact, mark the messages, set the summary."""

    async def hook(copaw: ReMeCopaw, memory: CoPawInMemoryMemory) -> None:
        window = await memory.get_memory(prepend_summary=False)
        made = await copaw.compact_memory(window[:-1], memory.get_compressed_summary())
        await memory.mark_messages_compressed(window[:-1])
        await memory.update_compressed_summary(made)

    async with open_copaw([RuntimeError("Connection error"), EN]) as copaw:
        memory = copaw.get_in_memory_memory()
        await memory.add([*SAID, Msg("user", "And now?", "user")])
        await memory.update_compressed_summary(OLD)
        with pytest.raises(ReMeError):
            await hook(copaw, memory)
        assert len(await memory.get_memory(prepend_summary=False)) == 3
        assert memory.get_compressed_summary() == OLD
        await hook(copaw, memory)
        assert len(await memory.get_memory(prepend_summary=False)) == 1
        assert memory.get_compressed_summary() == EN


async def test_small_talk_is_replaced_by_what_the_user_said(open_copaw: Open) -> None:
    answers = ["I am an AI assistant, how can I help?"] * 3
    async with open_copaw(answers) as copaw:
        made = await copaw.compact_memory(SAID, previous_summary=OLD)
    assert "AI assistant" not in made
    assert "Exporter" in made
    assert "Please write the importer for PostgreSQL." in made


async def test_a_message_of_no_known_form_is_a_failure_too(open_copaw: Open) -> None:
    async with open_copaw() as copaw:
        with pytest.raises(BadMessage):
            await copaw.compact_memory(["what?"], previous_summary=OLD)


async def test_the_service_behind_the_hooks_raises_too(open_copaw: Open) -> None:
    async with open_copaw([RuntimeError("Connection error")]) as copaw:
        with pytest.raises(ModelFailed, match="Connection error"):
            await copaw.summarise(SAID)
    with pytest.raises(BadInput, match="must be a number"):
        copaw.update_params(0, 0.7, "zh")
