"""What was said is on the disk before a model is asked, and goes on after an exit or a crash."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

from agentscope_reme.context.repair import is_paired
from tests.chat.conftest import Begin
from tests.chat.talk import Talk, tool_answers
from tests.loopback import LoopbackProvider, Reply, Request, ToolCall


def lines(talk: Talk) -> str:
    logs = (talk.root / "session/dialog").glob("*.jsonl")
    return "".join(log.read_text("utf-8") for log in logs)


async def test_the_persons_words_are_durable_before_the_model_is_asked(talk: Talk) -> None:
    found = []

    def look(request: Request) -> Reply:
        found.append("the zebra crossing" in lines(talk))
        return Reply(text="I see.")

    talk.provider.respond_with(look)
    assert await talk.say("the zebra crossing") == "I see."
    assert found == [True]
    assert "I see." in lines(talk)


async def test_thinking_words_and_tools_are_seen_as_they_come(talk: Talk) -> None:
    talk.provider.reply("Let me look.", thinking="hm, tea", tool_calls=[("ls", {"path": "."})])
    talk.provider.reply("Green tea, 绿茶.")
    assert await talk.say("喜欢什么茶？") == "Let me look.Green tea, 绿茶."
    assert talk.seen.thoughts == "hm, tea"
    kinds = [block.type for message in talk.seen.messages for block in message.blocks]
    assert kinds == ["thinking", "text", "tool_call", "tool_result", "text"]
    assert talk.provider.chats[0].stream


async def test_the_next_start_goes_on_with_it(begin: Begin) -> None:
    first = await begin()
    first.provider.reply("Noted in mind.")
    await first.say("my tea is oolong")
    await first.close()
    second = await begin()
    assert second.resumed
    second.provider.reply("Oolong.")
    await second.say("which tea?")
    said = [text for text in second.provider.chats[-1].texts[1:] if text]
    assert said == ["my tea is oolong", "Noted in mind.", "which tea?"]


async def test_a_conversation_is_never_gone_on_with_twice_at_once(begin: Begin) -> None:
    first = await begin()
    first.provider.reply("One.")
    await first.say("one")
    second = await begin()
    assert not second.resumed
    second.provider.reply("Two.")
    await second.say("two")
    assert second.assistant.conversation.session_id != first.assistant.conversation.session_id
    assert len(first.assistant.conversation.messages) == 2


async def test_a_stopped_reply_keeps_what_was_said(talk: Talk) -> None:
    talk.provider.reply("Beginning to", tool_calls=[("bash", {"command": "sleep 60"})])
    waiting = asyncio.Event()

    async def never(question: Any) -> Any:
        waiting.set()
        await asyncio.Event().wait()

    talk.assistant._permissions._ask = never
    reply = asyncio.create_task(talk.say("do it"))
    await waiting.wait()
    reply.cancel()
    await asyncio.wait({reply})
    assert reply.cancelled()
    conversation = talk.assistant.conversation
    assert is_paired(conversation.messages)
    assert [m.role for m in conversation.messages] == ["user", "assistant", "system", "assistant"]
    assert "Beginning to" in lines(talk)
    talk.provider.reply("Here again.")
    assert await talk.say("and now?") == "Here again."
    assert tool_answers(talk.provider.chats[-1]) == ["[stopped by the user]"]


async def test_words_cut_off_in_the_middle_are_kept(talk: Talk) -> None:
    held = threading.Event()
    talk.provider.reply("Once upon a time there was", cut_after=4)
    await talk.say("a story")
    held.set()
    kept = talk.assistant.conversation.messages[-1].text
    assert kept.startswith("Once")
    assert "Once" in lines(talk)
    assert talk.seen.failures


async def test_a_failing_model_costs_the_answer_alone(talk: Talk) -> None:
    talk.provider.respond_with(lambda request: Reply(status=400, message="out of order"))
    await talk.say("hello?")
    assert "out of order" in talk.seen.failures[0]
    assert "hello?" in lines(talk)
    talk.provider.respond_with(lambda request: Reply(text="Back."))
    assert await talk.say("again") == "Back."
    assert talk.provider.chats[-1].texts[1:] == ["hello?", "again"]


async def test_without_a_model_it_says_what_to_set(
    provider: LoopbackProvider, begin: Begin
) -> None:
    talk = await begin(llm__api_key="")
    await talk.say("anybody?")
    assert talk.seen.told == ["no_model"]
    assert "anybody?" in lines(talk)


async def test_the_note_of_the_open_conversation_says_nothing_of_it(talk: Talk) -> None:
    talk.provider.reply("Saffron it is.")
    await talk.say("saffron")
    mark = (talk.root / "journal/checkpoints/chat.json").read_text("utf-8")
    assert talk.assistant.conversation.session_id in mark
    assert "affron" not in mark


async def test_a_reply_that_breaks_off_was_not_stopped_by_the_person(talk: Talk) -> None:
    talk.provider.reply("Half of what I wanted to say to you", cut_after=3)
    await talk.say("one")
    assert len(talk.seen.failures) == 1
    talk.provider.reply("whole")
    await talk.say("two")
    told = "\n".join(talk.provider.chats[-1].texts)
    assert "Half of what I wanted" in told
    assert "stopped by the user" not in told


async def test_arguments_that_are_no_json_spoil_no_later_request(talk: Talk) -> None:
    talk.provider.reply(tool_calls=[ToolCall("ls", '{"path": ')]).reply("Again?")
    await talk.say("list it")
    talk.provider.reply("fine")
    await talk.say("go on")
    calls = [c for m in talk.provider.chats[-1].messages for c in m.get("tool_calls") or ()]
    assert [type(json.loads(call["function"]["arguments"])) for call in calls] == [dict]


async def test_a_model_that_says_nothing_is_told(talk: Talk) -> None:
    talk.provider.reply("")
    assert not await talk.assistant.answer("are you there?", talk.seen)
    assert talk.seen.told == ["silent"]
    talk.provider.reply("Now I am.")
    assert await talk.say("and now?") == "Now I am."
