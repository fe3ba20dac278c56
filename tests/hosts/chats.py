"""How a test talks with a host application, and waits for what it does afterwards."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from tests.hosts.host_process import HostProcess


def chat(app: HostProcess, user: str, session: str, text: str) -> str:
    """One turn through the host's console; the whole stream of its answer."""
    content = [{"type": "text", "text": text}]
    body = {
        "session_id": session,
        "user_id": user,
        "channel": "console",
        "input": [{"role": "user", "type": "message", "content": content}],
    }
    return app.post("/api/console/chat", body)


def until(happened: Callable[[], bool], what: str) -> None:
    """Wait, at most a minute: a loaded machine takes its time."""
    pause = threading.Event()
    for _ in range(600):
        if happened():
            return
        pause.wait(0.1)
    raise AssertionError(f"it never happened: {what}")


def contains(folder: Path, pattern: str, words: str) -> bool:
    """Whether one of the files that match holds the words."""
    return any(words in place.read_text(encoding="utf-8") for place in folder.glob(pattern))
