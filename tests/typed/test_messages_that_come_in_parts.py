"""A reply that grows, or leaves the window piece by piece, is kept once."""

from __future__ import annotations

import pytest

from agentscope_reme.messages import Message, TextBlock
from agentscope_reme.typed.growing import GrowingMessages

PART = "m1:" + "0" * 12  # as adapters name a part of a message


def said(*texts: str, id_: str | None = "m1") -> Message:
    blocks = tuple(TextBlock(text=text) for text in texts)
    return Message(id=id_, role="assistant", name="Friday", blocks=blocks)


def rest(growing: GrowingMessages, message: Message, session_id: str = "s1") -> list[str]:
    left = [
        b.text for m in growing.unkept(session_id, [message]) for b in m.blocks if b.type == "text"
    ]
    growing.mark(session_id, [message])
    return left


@pytest.fixture
def growing() -> GrowingMessages:
    fresh = GrowingMessages()
    assert rest(fresh, said("one", "two")) == ["one", "two"]
    return fresh


def test_only_what_is_new_is_left(growing: GrowingMessages) -> None:
    assert rest(growing, said("one", "two", "three")) == ["three"]
    assert rest(growing, said("one", "two", "three")) == []


def test_a_part_of_what_was_kept_is_nothing_new(growing: GrowingMessages) -> None:
    assert rest(growing, said("two", id_=PART)) == []
    assert rest(growing, said("two", "three", id_=PART)) == ["three"]
    assert rest(growing, said("one", "two", "three")) == []


def test_who_says_the_same_again_said_it_twice(growing: GrowingMessages) -> None:
    assert rest(growing, said("one", "two", "one")) == ["one"]


def test_other_messages_are_their_own(growing: GrowingMessages) -> None:
    assert rest(growing, said("one", id_="m2")) == ["one"]
    assert rest(growing, said("one", id_=None)) == ["one"]
    assert rest(growing, said("one", id_=None)) == ["one"]
    assert rest(growing, said("one"), session_id="s2") == ["one"]


def test_what_was_not_kept_is_not_marked(growing: GrowingMessages) -> None:
    grown = said("one", "two", "three")
    for _ in range(2):  # the first time the store failed
        (left,) = growing.unkept("s1", [grown])
        assert left.text == "three"


def test_it_forgets_the_oldest(growing: GrowingMessages) -> None:
    for number in range(600):
        rest(growing, said("one", id_=f"n{number}"))
    assert rest(growing, said("one", "two")) == ["one", "two"]
    assert rest(growing, said("one", id_="n599")) == []
