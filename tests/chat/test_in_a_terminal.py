"""The assistant in a real terminal: what is typed, and what stands on the screen."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chat.screen import CTRL_C, CTRL_D, ENTER, Screen
from tests.chat.talk import is_checkpoint_call, is_summary_run, noting
from tests.forgetting.life import leaks
from tests.loopback import LoopbackProvider, Reply, Request, ToolCall

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are of Unix")


@pytest.fixture
def environ(provider: LoopbackProvider) -> dict[str, str]:
    """What a person has set."""
    return {"REME_LLM_API_KEY": "k", "REME_LLM_BASE_URL": provider.openai_url}


@pytest.fixture
def screen(tmp_path: Path, environ: dict[str, str]) -> Iterator[Screen]:
    """The assistant, started, with its prompt on the screen."""
    with Screen(tmp_path, environ) as started:
        started.wait("›")
        yield started


def logs(folder: Path) -> str:
    return "".join(p.read_text("utf-8") for p in folder.glob(".reme/session/dialog/*.jsonl"))


def test_a_conversation_with_tools_and_consent(
    screen: Screen, provider: LoopbackProvider, tmp_path: Path
) -> None:
    mark = tmp_path / "mark"
    touch = ToolCall("bash", {"command": f"echo made it; touch {mark}"})
    provider.reply("Let me try.", thinking="a hard one", tool_calls=[touch]).reply("You said no.")
    screen.enter("请帮我做这件事")
    shown = screen.wait("[y]es, [n]o, [a]lways")
    assert "› 请帮我做这件事" in shown
    assert "a hard one\nLet me try.\n● bash echo made it; touch" in shown
    assert "Run this command?\necho made it; touch" in shown
    screen.enter("what?")
    screen.wait("[a]lways in this session ›", times=2)
    screen.enter("n")
    screen.wait("You said no.")
    assert not mark.exists()
    assert "did not allow" in provider.chats[-1].texts[-1]
    provider.reply(tool_calls=[touch]).reply("Done, 完成。")
    screen.enter("again")
    screen.wait("[a]lways in this session ›", times=3)
    screen.enter("y")
    shown = screen.wait("Done, 完成。")
    assert "  ↳ made it" in shown
    assert mark.exists()
    assert b"\x1b[90m" in screen.everything  # thinking is grey
    assert b"\x1b[36m" in screen.everything  # tools are cyan

    provider.reply("Three lines.")
    screen.paste("first\nsecond\nthird")
    screen.type(ENTER)
    screen.wait("Three lines.")
    assert provider.chats[-1].texts[-1] == "first\nsecond\nthird"

    screen.enter("/hlp")
    assert "There is no command /hlp. Did you mean /help?" in screen.wait("lists them all")
    screen.enter("/help")
    shown = screen.wait("Ctrl-D leaves")
    for name in ("/compact", "/new", "/clear", "/history", "/help", "/exit", "/horse"):
        assert f"\n{name} " in shown
    screen.enter("/history")
    assert "user (" in screen.wait("of 70000 tokens")
    screen.enter("/horse")
    screen.enter("/exit")
    assert screen.ended() == 0
    assert b"~(____/'~" in screen.everything
    assert "Three lines." in logs(tmp_path)


def test_ctrl_c_stops_the_reply_and_not_the_program(
    screen: Screen, provider: LoopbackProvider, tmp_path: Path
) -> None:
    held = threading.Event()
    slow = ToolCall("execute_code", {"code": "import time\ntime.sleep(600)"})
    provider.reply("One moment", tool_calls=[slow])
    screen.enter("wait for it")
    screen.wait("[a]lways in this session ›")
    screen.enter("a")
    screen.wait("Running")
    screen.type(CTRL_C)
    screen.wait("Stopped. What was said is kept.")
    assert "One moment" in logs(tmp_path)
    provider.reply(tool_calls=[ToolCall("bash", {"command": "echo never run"})])
    screen.enter("something else")
    screen.wait("Run this command?")
    screen.wait("[a]lways in this session ›", times=2)
    screen.type(CTRL_C)
    screen.wait("Stopped.", times=2)
    provider.reply("never said", delay_until=held)
    screen.enter("and this?")
    screen.wait("Thinking")
    screen.type(CTRL_C)
    screen.wait("Stopped.", times=3)
    held.set()
    screen.type("half a line" + CTRL_C)
    screen.wait("Ctrl-D or /exit leaves.")
    provider.reply("Still here.")
    screen.enter("are you there?")
    screen.wait("Still here.")
    said = [text for text in provider.chats[-1].texts[1:] if text]
    assert said[0] == "wait for it"
    assert said[-1] == "are you there?"
    screen.type(CTRL_D)
    assert screen.ended() == 0


def test_a_kill_in_the_middle_loses_nothing_that_was_said(
    screen: Screen, provider: LoopbackProvider, tmp_path: Path, environ: dict[str, str]
) -> None:
    held = threading.Event()
    provider.reply("Blue, noted.").reply("never", delay_until=held)
    screen.enter("my colour is blue")
    screen.wait("Blue, noted.")
    screen.enter("and my number is 4711")
    screen.wait("Thinking")
    screen.kill()
    held.set()
    assert "and my number is 4711" in logs(tmp_path)
    with Screen(tmp_path, environ) as again:
        again.wait("›")
        provider.reply("Blue and 4711.")
        again.enter("what do you know?")
        shown = again.wait("Blue and 4711.")
        assert "Going on with the conversation of" in shown
        said = [text for text in provider.chats[-1].texts[1:] if text]
        assert said == [
            "my colour is blue",
            "Blue, noted.",
            "and my number is 4711",
            "what do you know?",
        ]
        again.enter("/exit")
        assert again.ended() == 0


def test_compact_new_clear_and_an_exit_that_waits(
    screen: Screen, provider: LoopbackProvider, tmp_path: Path
) -> None:
    held = threading.Event()
    usual = noting(note="- the boat is called Argo", goal="Sailing the Argo")

    def respond(request: Request) -> Reply:
        answer: Reply = usual(request)
        if is_summary_run(request) and not is_checkpoint_call(request) and not held.is_set():
            return Reply(text=answer.text, tool_calls=answer.tool_calls, delay_until=held)
        return answer

    provider.respond_with(respond)
    for number, text in enumerate(("our boat is the Argo", "she sails in May"), 1):
        screen.enter(text)
        screen.wait("fine", times=number)
    screen.enter("/compact")
    shown = screen.wait("messages became a summary")
    assert "in the background" in shown
    screen.enter("/history")
    screen.wait("Summary of before: ## Goal Sailing the Argo")
    screen.enter("/new")
    screen.wait("A new conversation.")
    screen.enter("my locker is Quetzalcoatlus")
    screen.wait("fine", times=3)
    screen.enter("/clear")
    screen.wait("Cleared. Nothing of this conversation is left")
    assert not leaks(tmp_path / ".reme", ["quetzalcoatlus"])
    screen.type("\x1b[A")  # the arrow brings nothing of it back
    screen.enter("/exit")
    screen.wait("Saving 1 conversation(s)")
    held.set()
    assert screen.ended() == 0
    assert "Goodbye." in screen.text
    notes = "".join(p.read_text("utf-8") for p in tmp_path.glob(".reme/memory/*.md"))
    assert "the boat is called Argo" in notes


def test_a_narrow_terminal_and_chinese(
    provider: LoopbackProvider, tmp_path: Path, environ: dict[str, str]
) -> None:
    words = "记忆是可以打开的文件，谁都看得懂。" * 4
    provider.reply(words, tool_calls=[ToolCall("ls", {"path": "."})]).reply("好了。")
    with Screen(tmp_path, environ, "language=zh", columns=24) as narrow:
        narrow.wait("›")
        narrow.enter("你记得什么？")
        narrow.wait("好了。")
        assert words in narrow.text.replace("\n", "").replace(" ", "")
        narrow.enter("/help")
        narrow.wait("退出。")
        narrow.enter("/horse")
        narrow.enter("/exit")
        assert narrow.ended() == 0


_SLOW = """\
import sys, time, pathlib
class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == "agentscope":
            while not pathlib.Path({release!r}).exists():
                time.sleep(0.01)
        return None
sys.meta_path.insert(0, Slow())
"""


def test_the_prompt_is_there_before_agentscope(
    provider: LoopbackProvider, tmp_path: Path, environ: dict[str, str]
) -> None:
    release = tmp_path / "release"
    (tmp_path / "sitecustomize.py").write_text(_SLOW.format(release=str(release)), encoding="utf-8")
    provider.reply("Now I am here.")
    with Screen(tmp_path, {**environ, "PYTHONPATH": str(tmp_path)}) as screen:
        screen.wait("›")
        screen.enter("/help")
        screen.wait("Ctrl-D leaves")
        screen.enter("are you loaded?")
        screen.wait("Loading …")
        release.touch()
        screen.wait("Now I am here.")
        screen.enter("/exit")
        assert screen.ended() == 0


def test_a_broken_configuration_is_told_at_once(tmp_path: Path, environ: dict[str, str]) -> None:
    with Screen(tmp_path, environ, "chat.windw=5") as screen:
        assert screen.ended() == 2
        assert "chat.windw" in screen.text
    (tmp_path / "taken").write_text("no folder", encoding="utf-8")
    with Screen(tmp_path, environ, "workspace_dir=taken", columns=250) as screen:
        screen.wait("›")
        screen.enter("hello")
        screen.wait("Choose a folder")
        assert screen.ended() == 1
        assert screen.text.count("cannot be made") == 1
