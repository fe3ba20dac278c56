"""Questions about a conversation that brought none of its own."""

from __future__ import annotations

from collections import Counter

from conversations import Conversation, Question, Session
from stand_in_words import content_words, is_chinese, is_question, sentences

from agentscope_reme.messages import Message

_SHORTEST_WORD = 2
_WORDS_PER_QUESTION = 3


def questions_for(conversation: Conversation, count: int = 3) -> list[Question]:
    """The conversation's own questions, or `count` made of words only one session has.

    Args:
        conversation: the sessions, oldest first.
        count: how many to make; fewer when fewer sessions have words of their own.
    """
    if conversation.questions:
        return list(conversation.questions)
    spread = Counter(
        word for session in conversation.sessions for word in set(content_words(_said(session)))
    )
    made = [_about(session, spread) for session in _earlier(conversation.sessions)]
    return [question for question in made if question is not None][:count]


def _earlier(sessions: tuple[Session, ...]) -> tuple[Session, ...]:
    return sessions[:-1] or sessions


def _about(session: Session, spread: Counter[str]) -> Question | None:
    best: list[str] = []
    for sentence in sentences(_said(session)):
        if is_question(sentence):
            continue
        own = [
            word
            for word in dict.fromkeys(content_words(sentence))
            if spread[word] == 1 and len(word) >= _SHORTEST_WORD
        ]
        if len(own) > len(best):
            best = own
    words = sorted(best, key=len, reverse=True)[:_WORDS_PER_QUESTION]
    if not words:
        return None
    asked = " ".join(words)
    text = f"关于{asked}说过什么？" if is_chinese(asked) else f"What was said about {asked}?"
    return Question(text, session.session_id)


def _said(session: Session) -> str:
    spoken = (Message.from_dict(row) for row in session.messages)
    return "\n".join(message.text for message in spoken if message.role == "user")
