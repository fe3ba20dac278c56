"""When notes are written, and where: as the table of the documents says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentscope_reme.chat.words import say
from tests.chat.conftest import Begin
from tests.chat.talk import Talk, is_checkpoint_call, is_summary_run, noting
from tests.loopback import LoopbackProvider, Reply, Request


def notes(talk: Talk) -> str:
    """The notes of today."""
    day = talk.assistant.memory.clock.today().isoformat()
    place = talk.root / "memory" / f"{day}.md"
    return place.read_text("utf-8") if place.exists() else ""


def told_to_summarise(talk: Talk) -> list[str]:
    """What every background run was shown first."""
    runs = [request for request in talk.provider.chats if is_summary_run(request)]
    return [request.texts[-1] for request in runs if request.messages[-1]["role"] == "user"]


async def test_compact_summarises_keeps_recent_and_saves(talk: Talk) -> None:
    talk.provider.respond_with(noting(note="- likes tea", goal="Choosing tea"))
    for topic in ("tea", "cups", "water"):
        await talk.say(f"let us talk about {topic}")
    await talk.assistant.compact("", talk.seen)
    conversation = talk.assistant.conversation
    assert talk.seen.told == ["saving", "compacted"]
    assert "Choosing tea" in conversation.summary
    assert 2 <= len(conversation.messages) < 6
    assert conversation.messages[-2].text == "let us talk about water"
    await talk.saved()
    assert "likes tea" in notes(talk)
    for topic in ("tea", "cups", "water"):
        assert f"let us talk about {topic}" in told_to_summarise(talk)[0]
    archive = next((talk.root / "session/agentscope").glob("*.jsonl")).read_text("utf-8")
    assert "let us talk about tea" in archive
    await talk.say("go on")
    shown = talk.provider.chats[-1].texts
    assert "<previous-summary>" in shown[1]
    assert "Choosing tea" in shown[1]
    assert "let us talk about tea" not in "\n".join(shown)


async def test_a_wish_goes_with_compact(talk: Talk) -> None:
    talk.provider.respond_with(noting())
    await talk.say("one")
    await talk.say("two")
    await talk.assistant.compact("keep the numbers", talk.seen)
    asked = [r for r in talk.provider.chats if is_checkpoint_call(r)]
    assert "keep the numbers" in asked[0].texts[-1]
    await talk.saved()


async def test_new_saves_what_was_really_said_and_does_not_wait(talk: Talk) -> None:
    talk.provider.respond_with(noting(note="- Oslo in May"))
    await talk.say("we travel to Oslo in May")
    old = talk.assistant.conversation.session_id
    await talk.assistant.begin_anew(talk.seen)
    conversation = talk.assistant.conversation
    assert talk.assistant.memory.saving == 1
    assert (conversation.messages, conversation.summary) == ([], "")
    assert conversation.session_id != old
    await talk.saved()
    assert "Oslo in May" in notes(talk)
    assert "we travel to Oslo in May" in told_to_summarise(talk)[0]
    await talk.say("hello")
    assert talk.provider.chats[-1].texts[1:] == ["hello"]


async def test_what_was_saved_once_is_not_saved_again(begin: Begin) -> None:
    talk = await begin()
    talk.provider.respond_with(noting())
    await talk.say("first things")
    await talk.assistant.compact("", talk.seen)
    await talk.saved()
    await talk.close()
    again = await begin()
    assert again.resumed
    await again.assistant.begin_anew(again.seen)
    assert again.seen.told == ["nothing_to_save", "anew"]
    assert len(told_to_summarise(again)) == 1


async def test_saving_goes_on_at_the_next_start(begin: Begin) -> None:
    talk = await begin()
    is_down = True

    def moody(request: Request) -> Reply:
        if is_summary_run(request) and is_down:
            return Reply(status=400, message="asleep")
        answer: Reply = noting(note="- a late note")(request)
        return answer

    talk.provider.respond_with(moody)
    await talk.say("remember the milk")
    await talk.assistant.begin_anew(talk.seen)
    await talk.saved()
    assert not await talk.assistant.tell_savings(talk.seen)
    assert talk.seen.told == ["saving", "anew", "not_saved"]
    assert "asleep" in str(talk.seen.notices[-1][1]["why"])
    assert list((talk.root / "journal/summaries").glob("*.json"))
    await talk.close()
    is_down = False
    again = await begin()
    await again.saved()
    assert "a late note" in notes(again)
    assert await again.assistant.tell_savings(again.seen)
    assert again.seen.told == ["saved"]
    assert not list((again.root / "journal/summaries").glob("*.json"))


async def test_no_note_is_promised_before_it_is_written(talk: Talk) -> None:
    answers = [noting(note="- Oslo in May"), lambda _: Reply(text="[SILENT]")]
    for answer, told in zip(answers, ("saved", "nothing_noted"), strict=True):
        talk.provider.respond_with(answer)
        talk.seen.notices.clear()
        await talk.say("we travel to Oslo in May")
        await talk.assistant.begin_anew(talk.seen)
        assert talk.seen.told == ["saving", "anew"]
        assert "memory/" not in say("saving", "en", **talk.seen.notices[0][1])
        await talk.saved()
        await talk.assistant.tell_savings(talk.seen)
        assert talk.seen.told == ["saving", "anew", told]
        await talk.assistant.tell_savings(talk.seen)
        assert len(talk.seen.notices) == 3
    day = talk.assistant.memory.clock.today().isoformat()
    assert "Oslo in May" in notes(talk)
    assert list((talk.root / "memory").iterdir()) == [talk.root / f"memory/{day}.md"]


async def test_what_a_saving_wrote_is_known_whatever_was_changed_since(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentscope_reme.chat.memory._LOOKED_BACK", 1)
    talk.provider.respond_with(noting(note="- Oslo in May"))
    await talk.say("we travel to Oslo in May")
    await talk.assistant.begin_anew(talk.seen)
    await talk.saved()
    memory = talk.assistant.memory
    for number in range(2):
        memory.saver().write(f"memory/other{number}.md", "something else")
    await talk.assistant.tell_savings(talk.seen)
    day = memory.clock.today().isoformat()
    assert talk.seen.notices[-1] == ("saved", {"paths": f"memory/{day}.md"})


async def test_an_exit_writes_nothing_by_itself(begin: Begin) -> None:
    talk = await begin()
    talk.provider.reply("Sure.")
    await talk.say("just chatting")
    await talk.close()
    assert len(talk.provider.chats) == 1
    assert notes(talk) == ""


async def test_remember_this_is_written_by_the_assistant(talk: Talk) -> None:
    answer = await talk.call("write", path="MEMORY.md", content="- The cat is called Ada.\n")
    assert "Created MEMORY.md" in answer
    assert (talk.root / "MEMORY.md").read_text("utf-8") == "- The cat is called Ada.\n"
    found = await talk.call("memory_search", query="cat Ada")
    assert "MEMORY.md" in found
    assert "The cat is called Ada" in found
    assert not talk.questions


async def test_meaning_and_words_are_searched(begin: Begin, provider: LoopbackProvider) -> None:
    talk = await begin(embedding__api_key="e", embedding__base_url=provider.openai_url)
    await talk.call("write", path="memory/tea.md", content="Sencha at seven.\n")
    assert await talk.assistant.memory._memory.drain()
    found = json.loads(await talk.call("memory_search", query="Sencha"))
    assert found[0]["path"].endswith("memory/tea.md")
    assert {"keyword", "vector"} <= found[0]["metadata"].keys()
    embedded = [r for r in provider.requests if r.route == "openai-embeddings"]
    assert {r.model for r in embedded} == {"text-embedding-v4"}


async def test_a_conversation_that_was_compacted_is_gone_on_with(begin: Begin) -> None:
    talk = await begin()
    talk.provider.respond_with(noting(goal="Sailing"))
    for number in range(4):
        await talk.say(f"message number {number}")
    await talk.assistant.compact("", talk.seen)
    await talk.saved()
    before = talk.assistant.conversation
    await talk.close()
    again = await begin()
    after = again.assistant.conversation
    assert after.summary == before.summary
    assert [m.text for m in after.messages] == [m.text for m in before.messages]


async def test_summaries_take_turns(talk: Talk) -> None:
    talk.provider.respond_with(noting())
    await talk.say("one thing")
    await talk.assistant.begin_anew(talk.seen)
    await talk.say("another thing")
    await talk.assistant.begin_anew(talk.seen)
    await talk.saved()
    assert talk.assistant.memory.saving == 0
    assert len(told_to_summarise(talk)) == 2


def test_the_prompts_say_where_things_belong() -> None:
    from agentscope_reme.chat.prompts import load_prompt

    for language, word in (("en", "MEMORY.md"), ("zh", "记忆")):
        text = load_prompt("system", language).template
        assert word in text
        for needed in ("memory_search", "memory/$today.md", "$workspace", "$folder", "$tools"):
            assert needed in text


async def test_the_system_prompt_is_sent(begin: Begin, tmp_path: Path) -> None:
    talk = await begin(language="zh", timezone="Asia/Shanghai")
    talk.provider.reply("好的。")
    await talk.say("你好")
    sent = talk.provider.chats[0].texts[0]
    now = talk.assistant.memory.clock.now()
    assert f"{now:%Y-%m-%d}" in sent
    assert str(talk.root) in sent
    assert str(tmp_path) in sent
    assert "$" not in sent
    assert {"memory_search", "bash", "ls", "read", "edit", "write", "execute_code"} == set(
        talk.provider.chats[0].tool_names
    )
