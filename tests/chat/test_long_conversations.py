"""A conversation that grows too long is compacted by itself; what is worked on never is."""

from __future__ import annotations

from typing import Any

from agentscope_reme.context.tokens import estimate_messages_tokens
from tests.chat.conftest import Begin
from tests.chat.talk import is_checkpoint_call, is_summary_run, noting, tool_answers
from tests.loopback import Reply, Request, ToolCall

LIMITS: dict[str, Any] = {
    "chat__context_window_tokens": 9000,
    "chat__reserve_tokens": 3000,
    "chat__keep_recent_tokens": 800,
}
STORY = "the river runs down to the wide blue sea and nobody counts its many waves " * 40


async def test_it_is_compacted_before_a_turn(begin: Begin) -> None:
    talk = await begin(**LIMITS)
    talk.provider.respond_with(noting(goal="A story of the sea", note="- a sea story"))
    for number in range(12):
        await talk.say(f"part {number}: {STORY}")
    conversation = talk.assistant.conversation
    assert "auto_compacted" in talk.seen.told
    assert "A story of the sea" in conversation.summary
    assert estimate_messages_tokens(conversation.messages) < 6000
    assert conversation.messages[-2].text.startswith("part 11")
    asked = [r for r in talk.provider.chats if not is_checkpoint_call(r) and not is_summary_run(r)]
    assert len(asked) == 12
    for number, request in enumerate(asked):
        assert request.texts[-1].startswith(f"part {number}: ")
    await talk.saved()
    assert "a sea story" in "".join(p.read_text("utf-8") for p in (talk.root / "memory").iterdir())


async def test_the_request_being_worked_on_is_never_compacted(begin: Begin) -> None:
    talk = await begin(**LIMITS)
    (talk.root / "long.txt").write_text("one more line of the log\n" * 1200, encoding="utf-8")
    rounds = 3

    def reading(request: Request) -> Reply:
        if len(tool_answers(request)) < rounds:
            return Reply(tool_calls=(ToolCall("read", {"path": "long.txt"}),))
        return Reply(text="read it all")

    talk.provider.respond_with(reading)
    assert await talk.say("read it three times, please") == "read it all"
    last = talk.provider.chats[-1]
    assert "read it three times, please" in last.texts
    assert [m["role"] for m in last.messages[-6:]] == ["assistant", "tool"] * 3
    assert "Full content saved to" in tool_answers(last)[0]
    assert list((talk.root / "tool_result").glob("*.txt"))
    assert sum(map(len, last.texts)) < 9000 * 4


async def test_a_failing_summary_leaves_the_window_until_quotations_must_do(begin: Begin) -> None:
    talk = await begin(**LIMITS)

    def silent(request: Request) -> Reply:
        if is_checkpoint_call(request):
            return Reply(status=400, message="no summaries today")
        answer: Reply = noting()(request)
        return answer

    talk.provider.respond_with(silent)
    conversation = talk.assistant.conversation
    number = 0
    while not talk.seen.failures:
        await talk.say(f"part {number}: {STORY}")
        number += 1
    assert conversation.summary == ""
    assert conversation.messages[0].text.startswith("part 0")
    assert conversation.messages[-1].text == "fine"
    while not conversation.summary:
        await talk.say(f"part {number}: {STORY}")
        number += 1
    assert len(talk.seen.failures) == 2
    assert "part 1" in conversation.summary
    await talk.saved()
