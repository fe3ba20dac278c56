"""A person in haste, and a process that is ended: nothing is agreed to unseen, nothing runs on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.chat.screen import CTRL_C, HANGS_SECONDS, Screen
from tests.chat.test_in_a_terminal import environ, logs, screen
from tests.chat.test_tools import alive
from tests.loopback import LoopbackProvider, Reply, ToolCall

__all__ = ["environ", "screen"]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are of Unix")


def patiently(pids: Path) -> int:
    """The process id a command has written."""
    end = time.monotonic() + HANGS_SECONDS
    while not (pids.exists() and pids.read_text().strip()):
        assert time.monotonic() < end, "the command was not started"
    return int(pids.read_text())


def waits_for_ever(pids: Path) -> ToolCall:
    return ToolCall("bash", {"command": f"echo $$ > {pids}; sleep 300"})


def test_what_was_typed_before_a_question_does_not_answer_it(
    screen: Screen, provider: LoopbackProvider, tmp_path: Path
) -> None:
    held, mark = threading.Event(), tmp_path / "mark"
    touch = ToolCall("bash", {"command": f"touch {mark}"})
    provider.reply("Let me see.", tool_calls=[touch], delay_until=held).reply("As you wish.")
    provider.reply("Yes to what?")
    screen.enter("do something")
    screen.wait("Thinking")
    screen.enter("y")
    held.set()
    screen.wait("[a]lways in this session ›")
    screen.enter("n")
    screen.wait("As you wish.")
    assert not mark.exists()
    screen.wait("Yes to what?")
    assert provider.chats[-1].texts[-1] == "y"


def test_many_a_ctrl_c_is_one(screen: Screen, provider: LoopbackProvider, tmp_path: Path) -> None:
    held = threading.Event()
    provider.respond_with(
        lambda _: Reply(text="Still here." if held.is_set() else "never said", delay_until=held)
    )
    for number in range(1, 3):
        screen.enter(f"wait {number}")
        screen.wait("Thinking")
        for _ in range(6):
            screen.type(CTRL_C)
        screen.wait("Stopped.", times=number)
    held.set()
    screen.enter("are you there?")
    screen.wait("Still here.")
    assert logs(tmp_path).count("[stopped by the user]") == 2
    screen.enter("/exit")
    assert screen.ended() == 0


def test_a_closed_terminal_leaves_no_command_behind(
    screen: Screen, provider: LoopbackProvider, tmp_path: Path
) -> None:
    provider.reply("One moment", tool_calls=[waits_for_ever(tmp_path / "pid")])
    screen.enter("wait for it")
    screen.wait("[a]lways in this session ›")
    screen.enter("y")
    pid = patiently(tmp_path / "pid")
    assistant = screen.child.pid
    screen.child.ptyproc.fileobj.close()
    end = time.monotonic() + HANGS_SECONDS
    while alive(assistant):
        assert time.monotonic() < end, "it goes on without a terminal"
    assert not alive(pid)
    assert "[stopped by the user]" in logs(tmp_path)


def test_a_kill_leaves_no_command_behind(
    screen: Screen, provider: LoopbackProvider, tmp_path: Path
) -> None:
    command = f"sleep 300 & echo $! > {tmp_path / 'child'}; echo $$ > {tmp_path / 'pid'}; wait"
    provider.reply("One moment", tool_calls=[ToolCall("bash", {"command": command})])
    screen.enter("wait for it")
    screen.wait("[a]lways in this session ›")
    screen.enter("y")
    pids = [patiently(tmp_path / "pid"), patiently(tmp_path / "child")]
    screen.kill()
    end = time.monotonic() + HANGS_SECONDS
    while any(map(alive, pids)):
        assert time.monotonic() < end, "a command runs on"


def test_an_end_from_outside_leaves_no_command_behind(
    provider: LoopbackProvider, tmp_path: Path, environ: dict[str, str]
) -> None:
    provider.reply("One moment", tool_calls=[waits_for_ever(tmp_path / "pid")])
    with subprocess.Popen(
        [sys.executable, "-m", "agentscope_reme", "chat", "chat.permission=allow"],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **environ},
    ) as process:
        assert process.stdin is not None
        process.stdin.write(b"wait for it")
        process.stdin.close()
        process.stdin = None
        pid = patiently(tmp_path / "pid")
        process.terminate()
        _, told = process.communicate()
    assert process.returncode == 128 + signal.SIGTERM
    assert b"Traceback" not in told
    assert not alive(pid)
    assert "[stopped by the user]" in logs(tmp_path)
