"""`check_context` says what may be compacted, for hosts that compact themselves."""

from __future__ import annotations

from typing import Any

import pytest

from agentscope_reme.context import check_context
from agentscope_reme.errors import BadInput
from agentscope_reme.messages import Message, TextBlock, ToolCallBlock, ToolResultBlock


def same(message: Message) -> Message:
    return message


def user(text: str = "please") -> Message:
    return Message(role="user", name="user", blocks=(TextBlock(text=text),))


def calls(*ids: str) -> Message:
    blocks = tuple(ToolCallBlock(id=i, name="read", input="{}") for i in ids)
    return Message(role="assistant", name="agent", blocks=blocks)


def result(call: str, text: str = "done") -> Message:
    block = ToolResultBlock(id=call, name="read", output=(TextBlock(text=text),))
    return Message(role="system", name="system", blocks=(block,))


TALK = [user("word " * 200) for _ in range(10)]


def test_a_small_window_stays() -> None:
    assert check_context([user()], 1_000, 100, neutral=same) == ([], [user()], True)


def test_the_kept_part_is_a_suffix_within_the_reserve() -> None:
    check = check_context(TALK, 1_000, 450, neutral=same)
    assert [*check.to_compact, *check.to_keep] == TALK
    assert len(check.to_keep) == 2
    assert check.is_valid


def test_a_reserve_above_the_threshold_still_compacts() -> None:
    check = check_context(TALK, 1_000, 10_000, neutral=same)
    assert len(check.to_keep) == 2


def test_what_is_sent_anyway_counts() -> None:
    few = TALK[:3]
    assert check_context(few, 1_000, 300, neutral=same).to_compact == []
    assert check_context(few, 1_000, 300, neutral=same, overhead=600).to_compact == few[:2]


def test_one_huge_request_is_never_compacted() -> None:
    window = [user(), user("word " * 5_000)]
    assert check_context(window, 100, 50, neutral=same).to_keep == window[1:]


def test_parallel_calls_with_one_large_result_are_kept_whole() -> None:
    window = [*TALK, user(), calls("1", "2"), result("1"), result("2", "word " * 2_000)]
    check = check_context(window, 1_000, 300, neutral=same)
    assert check.to_keep == window[-4:]
    assert check.is_valid


def test_a_single_result_is_reported() -> None:
    assert not check_context([result("1"), user()], 1_000, 100, neutral=same).is_valid


def test_messages_of_any_form_and_sizes_of_any_counter() -> None:
    window: list[dict[str, Any]] = [{"role": "user", "content": f"{n}"} for n in range(4)]
    check = check_context(window, 30, 20, neutral=Message.from_dict, sizes=[10] * 4)
    assert check.to_keep == window[2:]


def test_negative_numbers_are_refused() -> None:
    with pytest.raises(BadInput):
        check_context([], -1, 0, neutral=same)
