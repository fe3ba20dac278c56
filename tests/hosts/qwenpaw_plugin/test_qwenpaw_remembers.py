"""The whole QwenPaw app, as a process, answers a chat from our memory, also after a power cut."""

from __future__ import annotations

import pytest

from tests.hosts.chats import chat, contains, until
from tests.hosts.host_process import HostProcess
from tests.hosts.host_provider import MODEL, last_words, said, writes_cards
from tests.hosts.installation import Installation
from tests.loopback import Reply, Request, ToolCall

pytestmark = pytest.mark.hosts

FACT = "Nadia Okafor keeps the zebra vault runbook."
QUESTION = "Who keeps the zebra vault runbook?"
ORDER = "Look the zebra vault up in your memory."
CARD = writes_cards("Zebra vault", FACT)


def model(request: Request) -> Reply | None:
    """A model that knows nothing but what stands in its prompt."""
    card = CARD(request)
    if card is not None:
        return card
    if "memory_search" not in request.tool_names:
        return Reply(text="A chat")  # QwenPaw asks for a title
    if ORDER in last_words(request):
        if str(request.messages[-1].get("tool_call_id", "")).startswith("call_"):
            return Reply(text=f"Found: {request.texts[-1]}")
        return Reply(tool_calls=(ToolCall("memory_search", {"query": "zebra vault"}),))
    if FACT in last_words(request):
        return Reply(text="Noted.")
    known = "Nadia Okafor" in said(request)
    return Reply(text="It is Nadia Okafor." if known else "I do not know.")


def sources_of_memory(app: HostProcess) -> set[str]:
    return {found["source"] for found in app.get("/api/agents/memory/backends")}


def test_qwenpaw_answers_from_our_memory_and_still_does_after_a_power_cut(
    qwenpaw: Installation,
) -> None:
    qwenpaw.provider.respond_with(model)
    memories = qwenpaw.home / "agentscope-reme" / "default" / "users"
    anna = memories / "console%3Aanna"

    with qwenpaw.start() as app:
        until(lambda: "plugin:agentscope-reme" in sources_of_memory(app), "the plug-in is loaded")
        assert "Noted." in chat(app, "anna", "monday", FACT)
        until(lambda: contains(anna, "session/dialog/*.jsonl", FACT), "the turn is saved")
        until(lambda: contains(anna, "daily/*/*.md", FACT), "the model wrote a card")
        assert "I do not know." in chat(app, "ben", "monday", QUESTION)
        app.kill()

    with qwenpaw.start() as app:
        assert "It is Nadia Okafor." in chat(app, "anna", "tuesday", QUESTION)
        found = chat(app, "anna", "wednesday", ORDER)
        assert "Found: " in found
        assert "zebra-vault.md:" in found
        assert "I do not know." in chat(app, "ben", "thursday", QUESTION)
        assert "zebra-vault.md:" in chat(app, "anna", "friday", "/reme search query=zebra")
        app.stop()
        assert "Workspace stopped: default" in app.log.read_text(encoding="utf-8")

    asked = [
        FACT in said(request)
        for request in qwenpaw.provider.chats
        if "memory_read" in request.tool_names and QUESTION in last_words(request)
    ]
    assert asked == [False, True, False]
    assert {request.model for request in qwenpaw.provider.chats} == {MODEL}
    assert not contains(memories, "console%3Aben/**/*.md", "Nadia")
    assert not contains(memories, "console%3Aben/**/*.jsonl", "Nadia")
