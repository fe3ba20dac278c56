"""The bundled conversation is what its description promises."""

from __future__ import annotations

import base64
from pathlib import Path

from conversations import Conversation, load_conversation

from agentscope_reme.messages import Message

PLACE = Path(__file__).resolve().parents[2] / "examples" / "conversation" / "conversation.json"


def bundled() -> Conversation:
    return load_conversation(PLACE)


def texts(session_id: str) -> str:
    (session,) = [s for s in bundled().sessions if s.session_id == session_id]
    return "\n".join(Message.from_dict(row).text for row in session.messages)


def test_sessions_are_in_order_of_time_and_every_message_has_an_id_and_a_time() -> None:
    messages = [Message.from_dict(row) for s in bundled().sessions for row in s.messages]
    moments = [m.created_at for m in messages if m.created_at is not None]
    assert len(moments) == len(messages) == len({m.id for m in messages})
    assert moments == sorted(moments)
    assert len({moment.date() for moment in moments}) == len(bundled().sessions) == 5


def test_there_is_one_picture_and_it_is_a_png() -> None:
    messages = [Message.from_dict(row) for s in bundled().sessions for row in s.messages]
    (image,) = [block for m in messages for _, block in m.images()]
    assert image.media_type == "image/png"
    assert image.data is not None
    assert base64.b64decode(image.data, validate=True).startswith(b"\x89PNG\r\n\x1a\n")


def test_every_question_is_answered_by_the_session_it_names() -> None:
    assert len(bundled().questions) == 6
    for question in bundled().questions:
        assert question.expected_session is not None
        said = texts(question.expected_session)
        assert all(words in said for words in question.must_contain), question


def test_later_sessions_correct_earlier_ones() -> None:
    earlier, later = texts("lantern-kickoff"), texts("plans-change")
    assert "3 July" in earlier
    assert "from 3 July to 17 July" in later
    assert "240 公斤" in texts("tao-tu-gong-ying")
    assert "260 公斤" in later
