"""The whole CoPaw 1.0.2 app, as a process, with our memory in the place of its own."""

from __future__ import annotations

import re

import pytest

from tests.hosts.chats import chat, contains, until
from tests.hosts.host_provider import MODEL, last_words, said
from tests.hosts.installation import Installation
from tests.loopback import Reply, Request, ToolCall

pytestmark = pytest.mark.hosts

FACT = "Nadia Okafor keeps the zebra vault runbook."
ORDER = "Look the zebra vault up in your memory."
NOTE = "- Zebra vault: its runbook is kept by Nadia Okafor."


def summary(request: Request) -> Reply:
    """What the model does when it is shown a conversation that leaves the window."""
    if request.messages[-1]["role"] == "tool" or FACT not in said(request):
        return Reply(text="[SILENT]")
    [path] = set(re.findall(r"memory/\d{4}-\d{2}-\d{2}\.md", said(request)))
    return Reply(tool_calls=(ToolCall("write", {"path": path, "content": f"# Notes\n\n{NOTE}\n"}),))


def conversation(request: Request) -> Reply:
    """What the model says to a person; it knows nothing but what stands in its prompt."""
    if request.messages[-1]["role"] == "tool":
        return Reply(text=f"Found: {request.texts[-1]}")
    if ORDER in last_words(request):
        return Reply(tool_calls=(ToolCall("memory_search", {"query": "zebra vault"}),))
    return Reply(text="Noted.")


def healthy(request: Request) -> Reply:
    return conversation(request) if "memory_search" in request.tool_names else summary(request)


def failing_summaries(request: Request) -> Reply:
    if "memory_search" in request.tool_names:
        return conversation(request)
    return Reply(status=500, message="out of order")


def test_what_a_failing_model_and_a_power_cut_left_is_noted_and_found_after_a_restart(
    copaw: Installation,
) -> None:
    workspace = copaw.home / "workspaces" / "default"
    copaw.provider.respond_with(failing_summaries)
    with copaw.start() as app:
        assert "Noted." in chat(app, "anna", "monday", FACT)
        assert "Summary task started" in chat(app, "anna", "monday", "/new")
        until(
            lambda: any("write" in chat.tool_names for chat in copaw.provider.chats),
            "the model is asked for a summary",
        )
        app.kill()
    assert not contains(workspace, "memory/*.md", "Nadia")

    copaw.provider.respond_with(healthy)
    with copaw.start() as app:
        assert "Noted." in chat(app, "anna", "tuesday", "Good morning.")
        until(lambda: contains(workspace, "memory/*.md", NOTE), "the summary is made up for")
        found = chat(app, "anna", "wednesday", ORDER)
        app.stop()
    assert "Found: " in found
    assert "Nadia Okafor" in found
    assert "/memory/" in found
    assert {request.model for request in copaw.provider.chats} == {MODEL}
