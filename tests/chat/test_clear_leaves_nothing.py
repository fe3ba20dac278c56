"""After ``/clear`` nothing of the conversation is on the disk: every byte of it is searched."""

from __future__ import annotations

import base64
import threading
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme.context.tool_results import ResultLimits
from agentscope_reme.messages import DataBlock, Message, TextBlock
from tests.chat.conftest import Begin
from tests.chat.talk import Talk, is_summary_run, noting, tool_answers
from tests.forgetting.life import leaks
from tests.loopback import Reply, Request, ToolCall

SECRETS = ("quetzalcoatlus", "zeta-4711", "瓢虫密码", "xylophonist", "obsidianware")
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(64))


def left(talk: Talk) -> list[str]:
    """Where anything of it still stands: words, and the bytes of the picture."""
    found = leaks(talk.root, SECRETS)
    for place in talk.root.rglob("*"):
        data = place.read_bytes() if place.is_file() else b""
        if PNG[8:] in data or base64.b64encode(PNG)[:40] in data:
            found.append(f"{place}: the picture")
    return found


async def everywhere(talk: Talk) -> None:
    """Secrets in words, thinking, calls, results, a picture, files that came and went."""
    conversation, provider = talk.assistant.conversation, talk.provider
    picture = DataBlock(media_type="image/png", data=base64.b64encode(PNG).decode())
    words = TextBlock(text="My locker is called Quetzalcoatlus.")
    await conversation.add(Message(role="user", name="user", blocks=(words, picture)))
    provider.respond_with(lambda request: Reply(text="Its code is zeta-4711.", thinking="瓢虫密码"))
    await talk.say("and the code?")
    await talk.call("write", path="memory/scratch.md", content="a xylophonist called\n")
    await talk.call("edit", path="memory/scratch.md", old="a xylophonist", new="somebody")
    long = talk.root / "long.txt"
    long.write_text("obsidianware on every line\n" * 2000, encoding="utf-8")
    await talk.call("read", path="long.txt")
    long.unlink()
    conversation.messages = await talk.assistant.memory.offload_tool_results(
        conversation.messages, ResultLimits.everywhere(1000)
    )


async def test_every_byte_is_searched(talk: Talk) -> None:
    await everywhere(talk)
    assert {row.split(": ")[-1] for row in left(talk)} == {*SECRETS, "the picture"}
    old = talk.assistant.conversation.session_id
    await talk.assistant.conversation.forget()
    assert left(talk) == []
    assert not list(talk.root.glob(f"session/**/*{old}*"))
    assert talk.assistant.conversation.messages == []
    assert (talk.root / "memory/scratch.md").read_text("utf-8") == "somebody called\n"
    talk.provider.respond_with(lambda request: Reply(text="Hello."))
    await talk.say("hello")
    assert talk.provider.chats[-1].texts[1:] == ["hello"]
    await talk.close()
    assert left(talk) == []


async def test_notes_of_an_earlier_compact_stay(talk: Talk) -> None:
    talk.provider.respond_with(noting(note="- the locker Quetzalcoatlus", goal="zeta-4711"))
    await talk.say("My locker is called Quetzalcoatlus, its code is zeta-4711.")
    await talk.say("and it is red")
    await talk.assistant.compact("", talk.seen)
    await talk.saved()
    await talk.assistant.conversation.forget()
    day = talk.assistant.memory.clock.today().isoformat()
    assert {row.split(": ")[1] for row in left(talk)} == {"quetzalcoatlus"}
    assert {row.split("/")[0] for row in left(talk)} <= {"memory", "metadata"}
    assert "Quetzalcoatlus" in (talk.root / f"memory/{day}.md").read_text("utf-8")
    found = await talk.assistant.memory.search_tool().call({"query": "locker Quetzalcoatlus"})
    assert f"memory/{day}.md" in found.text


async def test_what_waits_to_be_saved_goes_too(talk: Talk) -> None:
    held = threading.Event()

    def slow(request: Request) -> Reply:
        if is_summary_run(request):
            return Reply(text="[SILENT]", delay_until=held)
        return Reply(text="Its code is zeta-4711.")

    talk.provider.respond_with(slow)
    await talk.say("My locker is called Quetzalcoatlus.")
    await talk.assistant.conversation.save()
    assert [row for row in left(talk) if "journal/summaries" in row]
    await talk.assistant.conversation.forget()
    assert left(talk) == []
    assert talk.assistant.memory.saving == 0
    held.set()


async def test_other_conversations_stay_and_go_on_being_saved(talk: Talk) -> None:
    talk.provider.respond_with(noting(note="- a boat called Argo"))
    await talk.say("our boat is the Argo")
    await talk.assistant.begin_anew(talk.seen)
    await talk.say("My locker is called Quetzalcoatlus.")
    await talk.assistant.conversation.forget()
    await talk.saved()
    assert left(talk) == []
    logs = "".join(p.read_text("utf-8") for p in talk.root.glob("session/dialog/*.jsonl"))
    assert "our boat is the Argo" in logs
    notes = "".join(p.read_text("utf-8") for p in talk.root.glob("memory/*.md"))
    assert "a boat called Argo" in notes


async def test_a_file_keeps_the_name_it_was_given(talk: Talk) -> None:
    talk.provider.reply("Shall I note your groceries?")
    await talk.say("yes, the groceries")
    await talk.call("write", path="memory/groceries.md", content="milk\n")
    await talk.assistant.conversation.forget()
    assert (talk.root / "memory/groceries.md").read_text("utf-8") == "milk\n"


async def test_the_next_start_begins_anew(begin: Begin) -> None:
    talk = await begin()
    talk.provider.reply("Its code is zeta-4711.")
    await talk.say("My locker is called Quetzalcoatlus.")
    await talk.assistant.conversation.forget()
    await talk.close()
    again = await begin()
    assert not again.resumed
    assert left(again) == []


@pytest.mark.parametrize("question", [{"query": "Quetzalcoatlus"}, {"query": "zeta-4711"}])
async def test_no_search_finds_it(talk: Talk, question: dict[str, Any]) -> None:
    talk.provider.reply("Its code is zeta-4711.")
    await talk.say("My locker is called Quetzalcoatlus.")
    await talk.assistant.conversation.forget()
    found = await talk.assistant.memory.search(**question)
    assert found.hits == []


async def test_long_results_moved_away_before_a_crash_go_too(begin: Begin, tmp_path: Path) -> None:
    limits = {"context_window_tokens": 9000, "reserve_tokens": 3000, "keep_recent_tokens": 800}
    words = {f"chat__{name}": value for name, value in limits.items()}
    talk = await begin(**words)
    place = tmp_path / "long.txt"
    place.write_text("obsidianware on every line\n" * 1200, encoding="utf-8")

    def reading(request: Request) -> Reply:
        if len(tool_answers(request)) < 2:
            return Reply(tool_calls=(ToolCall("read", {"path": str(place)}),))
        return Reply(text="read it all")

    talk.provider.respond_with(reading)
    await talk.say("read it twice")
    assert list((talk.root / "tool_result").iterdir())
    await talk.close()
    again = await begin(**words)
    assert again.resumed
    await again.assistant.conversation.forget()
    assert left(again) == []
