"""The real hook and its real worker, as processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from filelock import FileLock

import agentscope_reme.hooks.claude_code_stop as hook

MODULE = ["-P", "-m", "agentscope_reme.hooks.claude_code_stop"]
SCRIPT = str(Path(hook.__file__).resolve())
PATIENCE = 90.0
"""Seconds until a test gives up on a process; a busy machine is slow, not wrong."""

MEMORY = '''
import os, time
from pathlib import Path

from agentscope_reme import ReMe, Settings
from agentscope_reme.testing import ScriptedChatModel, ToolCall

HERE = Path(__file__).parent


def open_memory(workspace):
    """A memory whose model writes a card at once, is down, or never answers."""

    def answer(request):
        with (HERE / "calls").open("a") as calls:
            calls.write(f"{os.getpid()}\\n")
        match (HERE / "mode").read_text():
            case "hang":
                time.sleep(600)
            case "down":
                raise ConnectionError("provider is down")
        if "daily_write" not in request.tool_names or "Created daily/" in request.text:
            return "Done."
        note = {"name": "launch", "description": "Launch.", "content": "On 9 July."}
        return ToolCall("daily_write", note)

    return ReMe(
        workspace,
        chat_model=ScriptedChatModel([answer] * 100),
        timezone="UTC",
        settings=Settings(watch=False),
    )
'''


class Desk:
    """One person's machine: a workspace, transcripts, and a memory with a model.

    Args:
        folder: an empty folder.
    """

    def __init__(self, folder: Path) -> None:
        self.workspace = folder / "memory"
        self.projects = folder / "claude/projects"
        self.cwd = folder / "checkout"
        self.cwd.mkdir()
        self.memory = folder / "my_memory.py"
        self.memory.write_text(MEMORY)
        self._calls = folder / "calls"
        self._mode = folder / "mode"
        self.model("answers")

    @property
    def queue(self) -> list[str]:
        """The names of the notes that wait."""
        queue = self.workspace / hook.FOLDER / hook.QUEUE
        return sorted(p.name for p in queue.iterdir()) if queue.is_dir() else []

    @property
    def calls(self) -> list[int]:
        """The process of every model call so far."""
        return [int(pid) for pid in self._calls.read_text().split()] if self._calls.exists() else []

    @property
    def log(self) -> str:
        """The hook's log."""
        place = self.workspace / hook.FOLDER / "hook.log"
        return place.read_text("utf-8") if place.exists() else ""

    def model(self, mode: str) -> None:
        """From now on the model "answers", is "down" or does "hang"."""
        self._mode.write_text(mode)

    def command(self, *options: str, model: bool = True, settle: str = "0") -> list[str]:
        """The hook's command line, as ``settings.json`` would have it."""
        given = ["--workspace", str(self.workspace), "--settle-seconds", settle]
        given += ["--patience-seconds", str(PATIENCE)]
        given += ["--memory", f"{self.memory}:open_memory"] if model else []
        return [sys.executable, *MODULE, *given, *options]

    def start(self, command: list[str], **environment: str) -> subprocess.Popen[bytes]:
        """Start a hook; write the event to its standard input."""
        return subprocess.Popen(
            command,
            cwd=self.cwd,
            env={**os.environ, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def stop(self, transcript: Path, *options: str, **how: Any) -> None:
        """Claude Code has answered: run the hook to its end."""
        self.run(self.command(*options, **how), event(transcript))

    def run(self, command: list[str], data: bytes, **environment: str) -> str:
        """Run a hook; it must succeed in silence. Returns what it wrote to standard error."""
        process = self.start(command, **environment)
        said, complaints = process.communicate(data, timeout=PATIENCE)
        assert (process.returncode, said) == (0, b""), complaints
        return complaints.decode()

    def served(self) -> None:
        """Wait until no note is left and the worker has ended."""
        self.until(lambda: not self.queue)
        self.at_rest()

    def at_rest(self) -> None:
        """Wait until no worker holds the lock."""
        with FileLock(self.workspace / hook.FOLDER / "worker.lock", timeout=PATIENCE):
            pass

    def until(self, true: Any) -> None:
        """Wait for something another process does."""
        end = time.monotonic() + PATIENCE
        while not true():
            assert time.monotonic() < end, f"{self.queue}\n{self.log}"
            time.sleep(0.02)

    def cards(self) -> list[str]:
        """The paths of all daily cards."""
        found = (self.workspace / "daily").glob("*/*.md")
        return sorted(p.relative_to(self.workspace).as_posix() for p in found)

    def archive(self, session_id: str) -> Path:
        """Where the rows of a session are kept."""
        return self.workspace / f"session/claude_code/{session_id}.jsonl"


def event(transcript: Path, **fields: Any) -> bytes:
    """A Stop event as Claude Code sends it."""
    return json.dumps(
        {
            "session_id": transcript.stem,
            "transcript_path": str(transcript),
            "cwd": "/home/mei/launch",
            "permission_mode": "default",
            "hook_event_name": "Stop",
            "stop_hook_active": False,
            **fields,
        }
    ).encode()
