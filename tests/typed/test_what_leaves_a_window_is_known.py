"""A message that leaves a window goes under a name of its own, and is known all the same."""

from __future__ import annotations

from agentscope_reme.messages import Message, TextBlock
from agentscope_reme.typed.conversations import keys_of


def said(message_id: str, text: str) -> Message:
    return Message(id=message_id, role="assistant", name="Friday", blocks=(TextBlock(text=text),))


def test_a_whole_message_has_one_key_under_both_names() -> None:
    [key] = keys_of([said("m1", "The heron nests in May.")])
    assert keys_of([said("m1:0123456789ab", "The heron nests in May.")]) == [key]
    assert keys_of([said("m1:0123456789ab", "It leaves in August.")]) != [key]
    assert keys_of([said("m2:0123456789ab", "The heron nests in May.")]) != [key]
