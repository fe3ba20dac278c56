"""What docs/claude_code.md tells people to install is what there is."""

from __future__ import annotations

import inspect
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme import ReMe
from agentscope_reme.agentscope_line import installed_line
from agentscope_reme.hooks.claude_code_stop import parsed

GUIDE = (Path(__file__).parents[2] / "docs/claude_code.md").read_text("utf-8")


def block(language: str, start: str = "") -> str:
    blocks: list[str] = re.findall(rf"```{language}\n(.*?)```", GUIDE, flags=re.S)
    return next(found for found in blocks if found.startswith(start))


def test_the_command_of_the_settings_is_understood() -> None:
    stop = json.loads(block("json"))["hooks"]["Stop"][0]["hooks"][0]
    assert stop["type"] == "command"
    python, *module, _, _, _, _ = words = shlex.split(stop["command"])
    assert python.endswith("/python")
    assert module == ["-P", "-m", "agentscope_reme.hooks.claude_code_stop"]
    options = parsed(words[4:])
    assert options.workspace == Path.home() / "memory"
    assert options.memory == f"{Path.home() / 'memory-env/my_memory.py'}:open_memory"


def test_every_option_is_in_the_guide(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parsed(["--help"])
    shown = capsys.readouterr().out
    for word in {*re.findall(r"--[a-z-]+", shown), *re.findall(r"REME_\w+", shown)} - {"--help"}:
        assert f"`{word}" in GUIDE, word


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names: dict[str, Any] = {}
    exec(compile(block("python", "# the same by hand"), "guide", "exec"), names)
    assert inspect.iscoroutinefunction(names["remember"])
    code = compile(block("python", "# a memory for the hook"), "guide", "exec")
    if installed_line() == 1:
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        exec(code, names)
        assert isinstance(names["open_memory"](str(tmp_path)), ReMe)
