"""A conversation without questions gets some made of words only one session has."""

from __future__ import annotations

from conversations import Conversation, Question, parse_conversation
from demo_questions import questions_for


def talk(*sessions: str) -> Conversation:
    rows = [{"messages": [{"role": "user", "content": text}]} for text in sessions]
    return parse_conversation({"sessions": rows}, "talk")


def test_its_own_questions_come_first() -> None:
    own = Question("What?")
    assert questions_for(Conversation(talk("a").sessions, (own,))) == [own]


def test_questions_ask_about_what_only_an_earlier_session_said() -> None:
    conversation = talk(
        "The ferry to Hvar leaves at noon. The weather is fine.",
        "The weather is fine. Marmalade wants Seville oranges.",
        "我们的猫叫芝麻糊。",
        "The weather is fine.",
    )
    first, second, third = questions_for(conversation)
    assert (first.expected_session, second.expected_session) == ("talk-1", "talk-2")
    assert "Hvar".lower() in first.question
    assert "marmalade" in second.question
    assert third.question.startswith("关于")
    assert third.expected_session == "talk-3"


def test_a_single_session_is_asked_about_itself() -> None:
    (question,) = questions_for(talk("The ferry to Hvar leaves at noon."))
    assert question.expected_session == "talk-1"
