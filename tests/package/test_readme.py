"""The documents tell the truth: their code runs, and what they name exists."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme import ReMe, Settings
from agentscope_reme.agentscope_line import installed_line
from agentscope_reme.steps.context import ApplicationContext
from agentscope_reme.testing import ScriptedChatModel

ROOT = Path(__file__).parents[2]


def code_block(document: str, title: str) -> str:
    text = (ROOT / document).read_text("utf-8")
    blocks: list[str] = re.findall(r"```python\n(.*?)```", text, flags=re.S)
    return next(block for block in blocks if block.startswith(f"# {title}\n"))


async def test_the_quick_start_of_this_line_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    line = installed_line()
    names: dict[str, Any] = {}
    block = code_block("README.md", f"quick start, AgentScope {line}.x")
    exec(compile(block, "README.md", "exec"), names)
    model = ScriptedChatModel(["On 9 July.", "nothing to record"])
    arguments: list[Any] = [model]
    if line == 1:
        from agentscope.formatter import OpenAIChatFormatter

        arguments.append(OpenAIChatFormatter())
    assert await names["main"](*arguments) == "On 9 July."
    logs = list((tmp_path / ".reme/session/dialog").glob("*.jsonl"))
    assert len(logs) == 1
    assert "launch" in logs[0].read_text("utf-8")


@pytest.mark.parametrize("line", [1, 2])
def test_a_quick_start_is_about_ten_lines(line: int) -> None:
    block = code_block("README.md", f"quick start, AgentScope {line}.x")
    assert len([row for row in block.splitlines()[1:] if row.strip()]) <= 10


async def test_the_step_of_the_contributing_guide_runs(tmp_path: Path) -> None:
    names: dict[str, Any] = {}
    exec(compile(code_block("CONTRIBUTING.md", "a step of your own"), "guide", "exec"), names)
    async with ReMe(tmp_path, settings=Settings(watch=False, fsync=False)) as reme:
        await reme.write("digest/wiki/a.md", "text")
        application: ApplicationContext = reme._engine.application
        result = await names["CountCardsStep"]()(application, prefix="digest/")
    assert result.answer == "1"


DOCUMENTS = sorted(
    str(place.relative_to(ROOT)) for place in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]
)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_path_a_document_names_exists(document: str) -> None:
    text = (ROOT / document).read_text("utf-8")
    named = re.findall(r"`((?:tests|docs|examples|benchmarks)/[\w/.]+)`", text)
    linked = re.findall(r"\]\(((?!https?:)[\w/.]+)\)", text)
    folder = (ROOT / document).parent
    assert [name for name in named if not (ROOT / name).exists()] == []
    assert [name for name in linked if not (folder / name).exists()] == []


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_no_placeholder_is_left_in_a_document(document: str) -> None:
    assert "@@" not in (ROOT / document).read_text("utf-8")


def test_the_kinds_of_recall_in_the_readme_are_those_of_the_code() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    value = r'`"(\w+)"`( \(default\))?'
    rows = re.findall(rf"^\| [^|]+ \| {value} \| {value} \|$", text, flags=re.M)
    attach = inspect.signature(ReMe.attach).parameters["recall"]
    middleware = inspect.signature(ReMe.middleware).parameters["mode"]
    assert {row[0] for row in rows} == _quoted(attach)
    assert {row[2] for row in rows} == _quoted(middleware)
    assert [row[0] for row in rows if row[1]] == [attach.default]
    assert [row[2] for row in rows if row[3]] == [middleware.default]


def _quoted(parameter: inspect.Parameter) -> set[str]:
    return set(re.findall(r"[\"'](\w+)[\"']", str(parameter.annotation)))


def test_every_make_target_a_document_names_exists() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z0-9-]+):", makefile, flags=re.M))
    for document in ("README.md", "CONTRIBUTING.md"):
        text = (ROOT / document).read_text("utf-8")
        named = set(re.findall(r"(?:`|^)make ([a-z-]+)", text, flags=re.M))
        assert named, document
        assert named - targets == set(), document


def test_every_call_of_the_facade_says_what_it_is_for() -> None:
    calls = inspect.getmembers(ReMe, lambda value: inspect.isfunction(value))
    silent = [name for name, call in calls if not name.startswith("_") and not call.__doc__]
    assert silent == []
