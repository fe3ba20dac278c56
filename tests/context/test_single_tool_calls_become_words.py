"""Calls without results and results without calls are told in words; whole pairs stay."""

from __future__ import annotations

from agentscope_reme.context import is_paired, paired
from agentscope_reme.messages import Message, TextBlock, ToolCallBlock, ToolResultBlock


def user(text: str = "please go on") -> Message:
    return Message(role="user", name="user", blocks=(TextBlock(text=text),))


def calls(*ids: str) -> Message:
    blocks = tuple(ToolCallBlock(id=i, name="read", input=f'{{"n": "{i}"}}') for i in ids)
    return Message(role="assistant", name="agent", blocks=blocks)


def result(call: str, text: str = "done") -> Message:
    block = ToolResultBlock(id=call, name="read", output=(TextBlock(text=text),))
    return Message(role="system", name="system", blocks=(block,))


def words(message: Message) -> list[str]:
    return [block.text if isinstance(block, TextBlock) else block.type for block in message.blocks]


def test_whole_batches_in_any_order_stay_the_same_objects() -> None:
    window = [user(), calls("1", "2"), result("2"), result("1"), user(), calls("1"), result("1")]
    assert all(new is old for new, old in zip(paired(window), window, strict=True))
    assert is_paired(window)


def test_a_call_that_was_never_answered_is_told() -> None:
    window = [user(), calls("1", "2"), result("1"), user()]
    assert words(paired(window)[1]) == [
        "tool_call",
        '(called read with {"n": "2"}; no answer came)',
    ]
    assert not is_paired(window)


def test_a_result_whose_call_is_gone_is_told() -> None:
    assert words(paired([result("1", "the file"), user()])[0]) == ["(read answered: the file)"]


def test_a_request_in_between_parts_a_pair() -> None:
    told = paired([calls("1"), user("stop"), result("1"), user()])
    assert words(told[0]) == ['(called read with {"n": "1"}; no answer came)']
    assert words(told[2]) == ["(read answered: done)"]


def test_a_second_answer_is_told() -> None:
    told = paired([calls("1"), result("1"), result("1", "again"), user()])
    assert [words(m) for m in told[:3]] == [
        ["tool_call"],
        ["tool_result"],
        ["(read answered: again)"],
    ]


def test_calls_that_are_just_being_answered_are_left_alone() -> None:
    window = [user(), calls("1", "2"), result("1")]
    assert paired(window) == window


def test_doing_it_again_changes_nothing() -> None:
    once = paired([result("9"), calls("1", "2"), result("2"), result("2"), user(), calls("3")])
    assert is_paired(once)


def test_long_answers_are_shortened_and_say_so() -> None:
    (told, _) = paired([result("1", "x" * 5_000), user()])
    assert len(told.text) < 700
    assert "characters left out" in told.text


def test_where_a_moved_answer_is_stays_known() -> None:
    path = "tool_result/" + "a" * 32 + ".txt"
    block = ToolResultBlock(id="1", name="read", output=(TextBlock(text="head"),), omitted=path)
    (told, _) = paired([Message(role="system", name="system", blocks=(block,)), user()])
    assert words(told) == [f"(read answered: head; in full: {path})"]
