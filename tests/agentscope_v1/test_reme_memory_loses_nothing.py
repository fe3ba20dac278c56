"""`ReMeMemory` is an `InMemoryMemory` that archives what leaves the window, and only that."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from agentscope.agent import ReActAgent
from agentscope.formatter import OpenAIChatFormatter
from agentscope.memory import InMemoryMemory
from agentscope.message import Msg
from agentscope.token import CharTokenCounter
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.agentscope_v1 import ReMeMemory
from agentscope_reme.agentscope_v1.marks import ours
from agentscope_reme.agentscope_v1.scripted import ScriptedChatModel
from agentscope_reme.errors import BadInput, ModelFailed, ReMeError, StorageFailed
from agentscope_reme.settings import Settings
from tests.agentscope_v1.list_memory import PIXEL, ListMemory

FULL = StorageFailed("disk", "full", "Free some space.")


def turns(count: int) -> list[Msg]:
    return [
        Msg("user", f"question {n // 2}", "user")
        if n % 2 == 0
        else Msg("Friday", f"answer {n // 2}", "assistant")
        for n in range(count)
    ]


async def texts(memory: InMemoryMemory, **kwargs: Any) -> list[str]:
    return [msg.get_text_content() for msg in await memory.get_memory(**kwargs)]


def shown(summary: str) -> str:
    """The words around a summary, as a model sees them."""
    return (
        f"<previous-summary>\n{summary}\n</previous-summary>\n"
        "This summary stands for the earlier part of this conversation. "
        "Go on from it as if you still saw that part."
    )


def snapshot(memory: ReMeMemory) -> str:
    return json.dumps(memory.state_dict())


def test_an_empty_memory_is_not_falsy() -> None:
    memory = ReMeMemory(ListMemory(), "s")

    agent = ReActAgent("F", "", ScriptedChatModel(), OpenAIChatFormatter(), memory=memory)

    assert agent.memory is memory


def test_a_session_id_that_names_nothing_is_refused() -> None:
    with pytest.raises(BadInput):
        ReMeMemory(ListMemory(), " ")


async def test_as_long_as_nothing_leaves_nothing_is_written() -> None:
    service = ListMemory()
    memory = ReMeMemory(service, "s")

    await memory.add(turns(4))
    await memory.update_messages_mark("liked")
    await memory.get_memory()

    assert not service.started
    assert service.sessions == service.archives == {}


async def test_what_is_deleted_is_archived_and_recorded_first() -> None:
    service = ListMemory()
    memory = ReMeMemory(service, "s")
    said = turns(4)
    await memory.add(said)

    removed = await memory.delete([said[0].id, said[1].id, "unknown"])

    assert removed == 2
    assert await texts(memory) == ["question 1", "answer 1"]
    assert [message.id for message in service.archives["s"]] == [said[0].id, said[1].id]
    assert service.said("s") == ["question 0", "answer 0"]


async def test_clearing_archives_everything_and_forgets_the_summary() -> None:
    service = ListMemory()
    memory = ReMeMemory(service, "s")
    await memory.add(turns(2))
    await memory.update_compressed_summary("so far")

    await memory.clear()

    assert await memory.get_memory() == []
    assert service.said("s") == ["question 0", "answer 0"]


@pytest.mark.parametrize("call", ["delete", "delete_by_mark", "clear"])
async def test_what_cannot_be_archived_is_not_removed(call: str) -> None:
    service = ListMemory()
    service.broken["archive"] = FULL
    memory = ReMeMemory(service, "s")
    said = turns(2)
    await memory.add(said, marks="m")
    before = snapshot(memory)
    arguments = {"delete": ([said[0].id],), "delete_by_mark": ("m",), "clear": ()}[call]

    with pytest.raises(StorageFailed):
        await getattr(memory, call)(*arguments)

    assert snapshot(memory) == before


async def test_hints_recalled_text_and_retrieved_memory_are_never_archived() -> None:
    service = ListMemory()
    memory = ReMeMemory(service, "s")
    await memory.add(Msg("user", "<system-hint>plan</system-hint>", "user"), marks="hint")
    await memory.add(Msg("memory", "tea at four", "user", metadata=ours("recall")))
    await memory.add(Msg("long_term_memory", "<long_term_memory>tea</long_term_memory>", "user"))
    await memory.add(Msg("user", "hi", "user"))

    await memory.clear()

    assert service.said("s") == ["hi"]
    assert [message.text for message in service.archives["s"]] == ["hi"]


async def test_deleting_hints_touches_no_disk() -> None:
    service = ListMemory()
    service.broken["archive"] = FULL
    memory = ReMeMemory(service, "s")
    await memory.add(Msg("user", "plan", "user"), marks="hint")

    assert await memory.delete_by_mark("hint") == 1


async def test_compressed_messages_are_hidden_whatever_is_excluded() -> None:
    memory = ReMeMemory(ListMemory(), "s")
    said = turns(4)
    await memory.add(said)
    await memory.update_messages_mark("compressed", msg_ids=[said[0].id, said[1].id])

    for exclude in (None, "compressed", "other"):
        assert await texts(memory, exclude_mark=exclude) == ["question 1", "answer 1"]
    assert await texts(memory, mark="compressed") == ["question 0", "answer 0"]
    assert await memory.size() == 4


async def test_a_failing_archive_does_not_stop_agentscopes_own_compression() -> None:
    service = ListMemory()
    service.broken["archive"] = FULL
    memory = ReMeMemory(service, "s")
    await memory.add(turns(2))

    assert await memory.update_messages_mark("compressed") == 2
    assert service.failures == [("memory.compress", FULL)]

    service.broken.clear()
    await memory.clear()
    assert service.said("s") == ["question 0", "answer 0"]


async def test_the_summary_stands_in_front_once() -> None:
    memory = ReMeMemory(ListMemory(), "s")
    await memory.add(turns(1))
    await memory.update_compressed_summary("so far")

    await memory.add(await memory.get_memory())

    assert await texts(memory) == [shown("so far"), "question 0"]
    assert await texts(memory, prepend_summary=False) == ["question 0"]
    first, second = await memory.get_memory(), await memory.get_memory()
    assert first[0].id == second[0].id


async def test_a_message_given_twice_is_there_once() -> None:
    memory = ReMeMemory(ListMemory(), "s")
    msg = Msg("user", "hi", "user")

    await memory.add([msg, msg])
    await memory.add(msg)
    await memory.add(None)

    assert await texts(memory) == ["hi"]


async def test_compaction_keeps_the_newest_and_archives_the_rest() -> None:
    service = ListMemory()
    service.summaries = ["They talked."]
    memory = ReMeMemory(service, "s")
    await memory.add(turns(8))

    done = await memory.compact(keep_recent=2)

    assert done == 6
    summary, *rest = await texts(memory)
    assert summary == shown("They talked.\n\n[The full messages: session/agentscope/s.jsonl]")
    assert rest == ["question 3", "answer 3"]
    assert len(service.archives["s"]) == len(service.sessions["s"]) == 6


async def test_a_second_compaction_builds_on_the_first_summary() -> None:
    service = ListMemory()
    service.summaries = ["one", "two"]
    memory = ReMeMemory(service, "s")
    await memory.add(turns(6))
    await memory.compact(keep_recent=2)
    await memory.add(turns(4))

    await memory.compact(keep_recent=2)

    assert service.previous_summaries == ["", "one"]
    assert (await texts(memory))[0].count("The full messages") == 1
    assert memory.get_compressed_summary().startswith("two")
    assert len(service.archives["s"]) == 8


async def test_without_a_model_the_summary_quotes_the_user() -> None:
    service = ListMemory()
    memory = ReMeMemory(service, "s")
    await memory.add(turns(6))

    await memory.compact(keep_recent=2)

    summary = (await texts(memory))[0]
    assert "question 0" in summary
    assert "session/agentscope/s.jsonl" in summary
    assert [where for where, _ in service.failures] == ["compaction.summarise"]


FAILURES = [
    ("archive", FULL),
    ("record", FULL),
    ("summarise", FULL),
    ("summarise", ModelFailed("m", "down", "Wait.")),
]


@pytest.mark.parametrize(("step", "error"), FAILURES)
async def test_a_failing_compaction_leaves_everything_as_it_was(
    step: str, error: ReMeError
) -> None:
    service = ListMemory()
    service.broken[step] = error
    memory = ReMeMemory(service, "s")
    await memory.add(turns(6))
    await memory.update_compressed_summary("before")
    before = snapshot(memory)

    with pytest.raises(type(error)):
        await memory.compact(keep_recent=2)

    assert snapshot(memory) == before
    service.broken.clear()
    service.summaries = ["after"]
    assert await memory.compact(keep_recent=2) == 4


async def test_a_cancelled_compaction_leaves_everything_as_it_was() -> None:
    service = ListMemory()
    service.slow.add("summarise")
    memory = ReMeMemory(service, "s")
    await memory.add(turns(6))
    before = snapshot(memory)
    task = asyncio.create_task(memory.compact(keep_recent=2))
    await asyncio.sleep(0)

    assert await memory.compact() == 0
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert snapshot(memory) == before


async def test_messages_added_during_a_compaction_stay() -> None:
    service = ListMemory()
    service.summaries = ["one"]
    memory = ReMeMemory(service, "s")
    await memory.add(turns(6))
    service.slow.add("archive")
    task = asyncio.create_task(memory.compact(keep_recent=2))
    await asyncio.sleep(0)
    await memory.add(Msg("user", "late", "user"))
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

    service.slow.clear()
    await memory.compact(keep_recent=3)

    assert (await texts(memory))[-1] == "late"


async def test_nothing_to_compact_changes_nothing() -> None:
    memory = ReMeMemory(ListMemory(), "s")
    await memory.add(turns(1))

    assert await memory.compact() == 0
    assert await texts(memory) == ["question 0"]


async def test_a_tool_call_stays_with_its_result() -> None:
    memory = ReMeMemory(ListMemory(), "s")
    use = {"type": "tool_use", "id": "c1", "name": "t", "input": {}}
    result = {"type": "tool_result", "id": "c1", "name": "t", "output": "ok"}
    await memory.add(
        [
            *turns(2),
            Msg("user", "go", "user"),
            Msg("Friday", [use], "assistant"),
            Msg("system", [result], "system"),
            Msg("Friday", "done", "assistant"),
        ]
    )

    await memory.compact(keep_recent=2)

    kept = await memory.get_memory(prepend_summary=False)
    assert [msg.role for msg in kept] == ["user", "assistant", "system", "assistant"]


async def test_retrieved_memory_behind_the_request_is_not_the_request() -> None:
    memory = ReMeMemory(ListMemory(), "s")
    request = Msg("user", "The request.", "user")
    await memory.add([*turns(2), request])
    await memory.add(Msg("long_term_memory", "<long_term_memory>tea</long_term_memory>", "user"))

    await memory.compact(keep_recent=0)

    assert (await memory.get_memory(prepend_summary=False))[0].id == request.id


async def test_state_files_of_both_classes_load_into_each_other() -> None:
    older, newer = InMemoryMemory(), ReMeMemory(ListMemory(), "s")
    await older.add(turns(2), marks="m")
    await older.update_compressed_summary("so far")

    newer.load_state_dict(json.loads(json.dumps(older.state_dict())))

    assert newer.state_dict() == older.state_dict()
    again = InMemoryMemory()
    again.load_state_dict(newer.state_dict())
    assert again.state_dict() == older.state_dict()


async def test_a_state_file_without_marks_loads() -> None:
    memory = ReMeMemory(ListMemory(), "s")

    memory.load_state_dict({"content": [Msg("user", "old", "user").to_dict()]})

    assert await texts(memory) == ["old"]


async def test_an_image_counts_a_fixed_number_in_every_counter() -> None:
    source = {"type": "base64", "media_type": "image/png", "data": PIXEL * 1000}
    image = Msg("user", [{"type": "image", "source": source}], "user")
    for counter in (None, CharTokenCounter()):
        memory = ReMeMemory(ListMemory(), "s", counter)
        await memory.add(image)

        assert 1000 <= (await memory.estimate_tokens())["estimated_tokens"] < 1200


async def test_a_token_counter_sees_the_words() -> None:
    small = ReMeMemory(ListMemory(), "s", CharTokenCounter())
    large = ReMeMemory(ListMemory(), "s", CharTokenCounter())
    await small.add(Msg("user", "x", "user"))
    await large.add(Msg("user", "x" * 501, "user"))

    sizes = [(await m.estimate_tokens())["messages_tokens"] for m in (small, large)]
    assert sizes[1] - sizes[0] == 500


async def test_the_length_limit_comes_from_the_argument_or_the_settings() -> None:
    service = ListMemory(settings=Settings(memory_compact_threshold=10))
    for memory, expected in (
        (ReMeMemory(service, "s"), True),
        (ReMeMemory(service, "s", max_input_length=10_000), False),
    ):
        await memory.add(Msg("user", "many words " * 20, "user"))
        assert await memory.needs_compaction() is expected


@given(st.lists(st.sampled_from(["add", "delete", "compact", "clear", "mark"]), max_size=12))
def test_every_message_is_always_in_the_window_or_in_the_archive(steps: list[str]) -> None:
    async def play() -> None:
        service = ListMemory()
        memory = ReMeMemory(service, "s")
        added: set[str] = set()
        for step in steps:
            if step == "add":
                said = turns(3)
                added |= {msg.id for msg in said}
                await memory.add(said)
            elif step == "delete":
                await memory.delete([msg.id for msg in (await memory.get_memory())[:2]])
            elif step == "compact":
                await memory.compact(keep_recent=1)
            elif step == "clear":
                await memory.clear()
            else:
                await memory.update_messages_mark("compressed")
            visible = {msg.id for msg in await memory.get_memory(prepend_summary=False)}
            archived = {message.id for message in service.archives.get("s", [])}
            assert added <= visible | archived

    asyncio.run(play())


async def test_the_history_names_the_limit_that_counts() -> None:
    service = ListMemory()
    known = ReMeMemory(service, session_id="s", max_input_length=500)
    assert "- Max input length: 500" in await known.get_history_str()
    unknown = ReMeMemory(service, session_id="s")
    await unknown.add(turns(20))
    told = await unknown.get_history_str()
    assert f"- Max input length: {service.settings.memory_compact_threshold}" in told
    assert (await unknown.estimate_tokens())["context_usage_ratio"] > 0
