"""Shell completion: what may stand where, and real shells in a real terminal that use it."""

from __future__ import annotations

import os
import pty
import select
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import ClassVar

import pytest

from agentscope_reme.cli import main
from agentscope_reme.cli.completion import SCRIPTS, answers

PROGRAM = "agentscope-reme"
SHELLS = [name for name in SCRIPTS if shutil.which(name)]


@pytest.mark.parametrize(
    ("line", "complete"),
    [
        ("se", ["search"]),
        ("sea", ["search"]),
        ("conf", ["config"]),
        ("config s", ["show", "settings.", "service."]),
        ("completion b", ["bash"]),
        ("search que", ["query="]),
        ("search query=a que", []),
        ("search fusion=", ["fusion=rrf", "fusion=score"]),
        ("search settings.fus", ["settings.fusion="]),
        ("search settings.fusion=r", ["settings.fusion=rrf"]),
        ("search lang", ["language="]),
        ("search language=z", ["language=zh"]),
        ("search config=c", ["config=cli"]),
        ("search llm.back", ["llm.backend="]),
        ("search llm.backend=ope", ["llm.backend=openai"]),
        ("search 'open quote", []),
        ("nonsense ", []),
    ],
)
def test_what_may_stand_there(line: str, complete: list[str]) -> None:
    assert answers(f"{PROGRAM} {line}") == complete


def test_every_name_is_offered_first() -> None:
    names = answers(f"{PROGRAM} ")
    assert {"search", "auto_memory", "config", "completion", "start", "--help"} <= set(names)


def test_keys_are_offered_once() -> None:
    offered = answers(f"{PROGRAM} search query=a limit=3 ")
    assert "min_score=" in offered
    assert "limit=" not in offered


def test_paths_are_those_of_the_disk_or_of_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".reme/digest/wiki").mkdir(parents=True)
    (tmp_path / ".reme/digest/wiki/a b.md").write_text("x", encoding="utf-8")
    (tmp_path / ".reme/users/ann/daily").mkdir(parents=True)
    (tmp_path / "turns.json").write_text("[]", encoding="utf-8")
    assert answers(f"{PROGRAM} read path=di") == ["path=digest/"]
    assert answers(f"{PROGRAM} read path=digest/wiki/") == ["path=digest/wiki/a b.md"]
    assert answers(f"{PROGRAM} read user=ann path=d") == ["path=daily/"]
    assert answers(f"{PROGRAM} record messages=@t") == ["messages=@turns.json"]
    assert answers(f"{PROGRAM} status workspace_dir=.r") == ["workspace_dir=.reme/"]
    assert answers(f"{PROGRAM} read path=nowhere/") == []


def test_a_shell_nobody_knows_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "tcsh"]) == 2
    assert "bash, zsh, fish" in capsys.readouterr().err


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("sear\tX", ["search", "X"]),
        ("search que\tX", ["search", "query=X"]),
        ("search fusion=r\tX", ["search", "fusion=rrf", "X"]),
        ("search settings.fusion=r\tX", ["search", "settings.fusion=rrf", "X"]),
        ("read path=digest/wiki/a\tX", ["read", "path=digest/wiki/a b.md", "X"]),
    ],
)
def test_a_real_shell_completes(
    shell: str, typed: str, completed: list[str], tmp_path: Path
) -> None:
    (tmp_path / ".reme/digest/wiki").mkdir(parents=True)
    (tmp_path / ".reme/digest/wiki/a b.md").write_text("x", encoding="utf-8")
    terminal = Terminal(shell, tmp_path)
    try:
        terminal.write(f"{PROGRAM} {typed}\n")
        terminal.read_until("".join(f"<{word}>" for word in completed))
    finally:
        terminal.close()


class Terminal:
    """A shell on a pseudo-terminal, with the program on its path and its script loaded."""

    _START: ClassVar = {
        "bash": ["bash", "--norc", "--noprofile", "-i"],
        "zsh": ["zsh", "-f", "-i"],
        "fish": ["fish", "--no-config", "-i"],
    }
    _LOAD: ClassVar = {
        "bash": f'PS1="> "; eval "$({PROGRAM} completion bash)"',
        "zsh": (
            f'PS1="> "; autoload -Uz compinit; compinit -u -D; eval "$({PROGRAM} completion zsh)"'
        ),
        "fish": f"{PROGRAM} completion fish | source",
    }

    def __init__(self, shell: str, folder: Path) -> None:
        programs = folder / "bin"
        programs.mkdir()
        program = programs / PROGRAM
        program.write_text(
            "#!/bin/sh\n"
            f'[ "$1" = completion ] && exec {sys.executable} -m agentscope_reme "$@"\n'
            """printf '<%s>' "$@"; echo\n"""  # what the shell made of the line
        )
        program.chmod(0o755)
        environment = {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "HOME": str(folder),
            "TERM": "dumb" if shell != "fish" else "xterm",
            "LC_ALL": "C.UTF-8",
        }
        self._process, self._handle = pty.fork()
        if self._process == 0:
            os.chdir(folder)
            os.execvpe(shell, self._START[shell], environment)
        self._shown = ""
        self.write(f"{self._LOAD[shell]}; echo rea''dy\n")
        self.read_until("ready\r\n")

    def write(self, text: str) -> None:
        os.write(self._handle, text.encode())

    def read_until(self, text: str, seconds: float = 20.0) -> None:
        end = time.monotonic() + seconds
        while text not in self._shown:
            left = end - time.monotonic()
            assert left > 0, self._shown
            if select.select([self._handle], [], [], left)[0]:
                self._shown += os.read(self._handle, 4096).decode("utf-8", "replace")

    def close(self) -> None:
        os.kill(self._process, signal.SIGKILL)
        os.close(self._handle)
        os.waitpid(self._process, 0)
