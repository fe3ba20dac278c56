"""Without a terminal: text on standard input is answered on standard output, then it ends."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Callable
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest
from rich.console import Console

from agentscope_reme.chat.assistant import Assistant
from agentscope_reme.chat.commands import Commands, is_command
from agentscope_reme.chat.display import Screen, visible
from agentscope_reme.chat.piped import parts_of
from agentscope_reme.cli.main import main
from tests.chat.talk import noting
from tests.loopback import LoopbackProvider, ToolCall

Chat = Callable[..., tuple[int, str, str]]


@pytest.fixture
def chat(provider: LoopbackProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Chat:
    """The command, its streams and its environment; in this process, which has AgentScope loaded.

    Loading it takes a second and a half of processor time; what the edges of a real process do is
    tried below, and in terminals.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(logging, "disable", lambda _: None)
    monkeypatch.setenv("REME_LLM_API_KEY", "k")
    monkeypatch.setenv("REME_LLM_BASE_URL", provider.openai_url)

    def run(said: str, *words: str, encoding: str = "utf-8") -> tuple[int, str, str]:
        outputs = [BytesIO(), BytesIO()]
        streams = [TextIOWrapper(to, encoding=encoding, write_through=True) for to in outputs]
        monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(said.encode()), encoding="utf-8"))
        monkeypatch.setattr(sys, "stdout", streams[0])
        monkeypatch.setattr(sys, "stderr", streams[1])
        code = main(["chat", *words])
        out, err = (output.getvalue().decode("utf-8") for output in outputs)
        return code, out, err

    return run


def test_a_question_is_answered(chat: Chat, provider: LoopbackProvider, tmp_path: Path) -> None:
    provider.reply(thinking="hm", tool_calls=[ToolCall("bash", {"command": "touch made"})])
    provider.reply("四十二。")
    code, out, err = chat("what is the answer?\nin short, please\n")
    assert (code, out) == (0, "四十二。\n")
    assert "● bash touch made" in err
    assert not (tmp_path / ".reme/made").exists()
    assert "no terminal to ask in" in provider.chats[-1].texts[-1]
    assert provider.chats[0].texts[-1] == "what is the answer?\nin short, please"
    assert (tmp_path / ".reme/session/dialog").is_dir()
    assert not (tmp_path / ".reme/journal/checkpoints/chat.json").exists()


def test_remecli_is_the_same_and_reads_dotenv(provider: LoopbackProvider, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("REME_LLM_API_KEY=from-the-file\n", encoding="utf-8")
    provider.reply("Hello.")
    environ = {k: v for k, v in os.environ.items() if k != "REME_LLM_API_KEY"}
    done = subprocess.run(
        [sys.executable, "-c", "from agentscope_reme.cli import remecli; remecli()", "config=cli"],
        cwd=tmp_path,
        input="hi",
        capture_output=True,
        text=True,
        check=False,
        env={**environ, "REME_LLM_BASE_URL": provider.openai_url},
    )
    assert done.stdout == "Hello.\n", done.stderr
    assert provider.chats[0].header("Authorization") == "Bearer from-the-file"
    assert provider.chats[0].model == "qwen3.5-plus"


def test_commands_stand_between_messages(
    chat: Chat, provider: LoopbackProvider, tmp_path: Path
) -> None:
    provider.respond_with(noting(note="- a boat called Argo"))
    code, out, err = chat("our boat is the Argo\n/new\nhello\n/history\n")
    assert (code, out) == (0, "fine\nfine\n")
    assert "A new conversation." in err
    assert "user (" in err
    notes = "".join(p.read_text("utf-8") for p in tmp_path.glob(".reme/memory/*.md"))
    assert "a boat called Argo" in notes


def test_what_fails_is_told_and_ends_with_a_code(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REME_LLM_API_KEY", "")
    code, out, err = chat("hello")
    assert (code, out) == (1, "")
    assert "REME_LLM_API_KEY" in err
    code, _, err = chat("hello", "langauge=zh")
    assert code == 2
    assert "Did you mean `language`?" in err


def test_a_command_is_a_word_and_a_path_is_none() -> None:
    assert is_command("/help")
    assert is_command(" /hlp me ")
    assert not is_command("/usr/bin is a folder")
    assert not is_command("// a comment")
    assert list(parts_of("a\nb\n/new\n/etc is a folder\n")) == ["a\nb", "/new", "/etc is a folder"]
    assert list(parts_of(" \n")) == []


@pytest.mark.parametrize(
    ("typed", "near"),
    [("/nonsense", None), ("/hlp", "/help"), ("/Exti", "/exit"), ("/nwe", "/new"), ("/sing", None)],
)
async def test_only_a_slip_of_the_finger_is_taken_for_a_command(
    typed: str, near: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    async def ready() -> Assistant:
        raise AssertionError("nobody is needed to say that")

    console = Console(width=200)
    assert not await Commands(ready, Screen(console, console, "en"), "en").run(typed)
    told = capsys.readouterr().out
    assert "/help lists them all." in told
    assert ("Did you mean" in told) == (near is not None)
    assert near is None or f"Did you mean {near}?" in told


def test_what_is_shown_cannot_steer_a_terminal() -> None:
    assert visible("a\x1b[2Jb\x07c\rd\u202ee\n\t茶") == "a�[2Jb�c�d�e\n\t茶"


def test_little_is_loaded_for_the_prompt() -> None:
    code = (
        "import sys; import agentscope_reme.chat.terminal;"
        "print([m for m in ('agentscope', 'numpy', 'dashscope', 'jieba', 'sqlite3',"
        " 'agentscope_reme.engine') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]", done.stdout


def test_half_characters_and_foreign_lines_do_no_harm() -> None:
    assert visible("a\ud83db") == "a�b"
    assert list(parts_of("a\u2028b\x0cc\r\nd")) == ["a\u2028b\x0cc\nd"]


def test_a_terminal_that_lacks_a_character_shows_another(
    chat: Chat, provider: LoopbackProvider
) -> None:
    provider.reply("四十二 is 42")
    assert chat("hi", encoding="ascii")[:2] == (0, "??? is 42\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a system without /dev/full")
def test_a_full_disk_behind_the_answer_is_told(provider: LoopbackProvider, tmp_path: Path) -> None:
    provider.reply("hello")
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "agentscope_reme", "chat"],
            cwd=tmp_path,
            input=b"hi",
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            env={
                **os.environ,
                "REME_LLM_API_KEY": "k",
                "REME_LLM_BASE_URL": provider.openai_url,
            },
        )
    assert done.returncode == 1
    assert b"it takes no more" in done.stderr
    assert b"Traceback" not in done.stderr
