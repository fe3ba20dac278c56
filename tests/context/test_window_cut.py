"""Where a window is cut: a suffix stays, tool calls stay whole, the live request stays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.context import choose_cut, estimate_messages_tokens
from agentscope_reme.errors import BadInput
from agentscope_reme.messages import Block, Message, TextBlock, ToolCallBlock, ToolResultBlock


def user(text: str = "please go on") -> Message:
    return Message(role="user", name="user", blocks=(TextBlock(text=text),))


def said(text: str = "here it is") -> Message:
    return Message(role="assistant", name="agent", blocks=(TextBlock(text=text),))


def calls(*ids: str) -> Message:
    blocks = tuple(ToolCallBlock(id=i, name="read", input="{}") for i in ids)
    return Message(role="assistant", name="agent", blocks=blocks)


def result(call_id: str, text: str = "done") -> Message:
    block = ToolResultBlock(id=call_id, name="read", output=(TextBlock(text=text),))
    return Message(role="system", name="system", blocks=(block,))


PARALLEL = [
    user(),
    calls("1", "2", "3"),
    result("1"),
    result("2"),
    result("3"),
    calls("4", "5"),
    result("4"),
    result("5"),
    user("and now?"),
]


@pytest.mark.parametrize(
    ("keep_recent", "cut"), [(1, 8), (2, 8), (3, 8), (4, 5), (5, 5), (7, 5), (8, 1), (9, 0)]
)
def test_parallel_calls_and_their_results_are_one_unit(keep_recent: int, cut: int) -> None:
    assert choose_cut(PARALLEL, keep_recent=keep_recent) == cut


@pytest.mark.parametrize("budget", [0, 1, 20, 60, 10_000])
def test_the_live_request_stays_whatever_the_budget(budget: int) -> None:
    assert choose_cut(PARALLEL, keep_recent=0, budget=budget) <= 8
    huge = [user(), said(), user("word " * 50_000)]
    assert choose_cut(huge, keep_recent=3, budget=budget) == 2


def test_what_followed_the_live_request_stays_with_it() -> None:
    window = [user(), said(), user("do it"), calls("1"), result("1", "long " * 5_000)]
    assert choose_cut(window, keep_recent=1, budget=10) == 2


def test_a_request_asked_while_a_call_was_open_keeps_the_call() -> None:
    window = [user(), said(), calls("1"), user("stop"), result("1")]
    assert choose_cut(window, keep_recent=1) == 2


def test_ids_that_are_used_again_in_every_turn_are_not_one_unit() -> None:
    window = [user(), calls("0"), result("0"), said(), user(), calls("0"), result("0")]
    assert choose_cut(window, keep_recent=4) == 3


def test_calls_without_ids_belong_to_the_next_result() -> None:
    window = [user(), calls(""), result(""), said(), user()]
    assert choose_cut(window, keep_recent=3) == 3


def test_a_call_and_its_result_in_one_message_can_be_kept_alone() -> None:
    both = Message(role="assistant", name="agent", blocks=(*calls("1").blocks, *result("1").blocks))
    assert choose_cut([user(), both, user()], keep_recent=2) == 1


def test_a_result_under_the_users_role_is_not_a_request() -> None:
    answer = Message(role="user", name="user", blocks=result("1").blocks)
    window = [user(), said(), user("do it"), calls("1"), answer]
    assert choose_cut(window, keep_recent=0) == 2


def test_without_a_user_the_newest_message_stays() -> None:
    assert choose_cut([said(), said(), said()], keep_recent=0) == 2
    assert choose_cut([], keep_recent=3, budget=100) == 0


def test_without_limits_everything_stays() -> None:
    assert choose_cut(PARALLEL) == 0


def test_the_budget_limits_the_kept_suffix() -> None:
    window = [said("word " * 100) for _ in range(10)] + [user()]
    budget = 350
    cut = choose_cut(window, budget=budget)
    assert estimate_messages_tokens(window[cut:]) <= budget
    assert estimate_messages_tokens(window[cut - 1 :]) > budget


def test_a_negative_limit_is_refused() -> None:
    with pytest.raises(BadInput, match="`budget` is negative"):
        choose_cut(PARALLEL, budget=-1)


IDS = st.sampled_from(["", "1", "2", "3"])
MESSAGES = st.lists(
    st.one_of(
        st.builds(user, st.text(max_size=40)),
        st.builds(said, st.text(max_size=40)),
        st.lists(IDS, min_size=1, max_size=3).map(lambda ids: calls(*ids)),
        st.builds(result, IDS),
    ),
    max_size=25,
)
LIMITS = st.one_of(st.none(), st.integers(0, 200))


def _requests(messages: list[Message]) -> list[int]:
    return [i for i, m in enumerate(messages) if m.role == "user"]


def _parted(messages: list[Message], cut: int) -> bool:
    """Whether some result behind the cut belongs to a call before it."""
    nearest: dict[str, int] = {}
    blocks: list[tuple[int, Block]] = [(i, b) for i, m in enumerate(messages) for b in m.blocks]
    for place, block in blocks:
        if isinstance(block, ToolCallBlock):
            nearest[block.id] = place
        elif isinstance(block, ToolResultBlock) and nearest.get(block.id, cut) < cut <= place:
            return True
    return False


@given(MESSAGES, LIMITS, LIMITS)
def test_every_cut_keeps_pairs_and_the_live_request_and_is_final(
    messages: list[Message], keep_recent: int | None, budget: int | None
) -> None:
    cut = choose_cut(messages, keep_recent=keep_recent, budget=budget)
    assert 0 <= cut <= max(0, len(messages) - 1)
    assert not _parted(messages, cut)
    assert cut <= max(_requests(messages), default=len(messages))
    # nothing more leaves when nothing was added: compaction does not chase its own tail
    assert choose_cut(messages[cut:], keep_recent=keep_recent, budget=budget) == 0
