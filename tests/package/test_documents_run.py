"""Every Python block of README and docs compiles, and those of this line run as they stand."""

from __future__ import annotations

import inspect
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme import ReMe, Settings
from agentscope_reme.agentscope_line import installed_line
from agentscope_reme.testing import ScriptedChatModel, ToolCall

ROOT = Path(__file__).parents[2]
CARD = "daily/2026-06-20/launch.md"
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCKS = {
    f"{place.name}: {block.splitlines()[0]}": block
    for place in DOCUMENTS
    for block in re.findall(r"```python\n(.*?)```", place.read_text("utf-8"), flags=re.S)
}
ELSEWHERE = {
    "dream.md: # a nightly dream",  # tests/dream/test_the_guide_tells_the_truth.py
    "claude_code.md: # the same by hand",  # tests/claude_code
    "scaling.md: # a shared index",  # tests/scaleout/engines
}
NOTE = {"name": "a", "description": "About a.", "content": "# A\n\n- Text.\n"}
STEPS: dict[str, list[Any]] = {
    "resources.md: # cards of resources": [ToolCall("daily_write", NOTE), "Recorded."],
    "README.md: # quick start": ["On 9 July.", "nothing to record"],
}


def of_this_line(title: str) -> bool:
    line = re.search(r"AgentScope (\d)\.x", title)
    return line is None or int(line[1]) == installed_line()


RUN = [title for title in BLOCKS if of_this_line(title) and title not in ELSEWHERE]


@pytest.mark.parametrize("title", BLOCKS)
def test_a_block_compiles_and_says_what_it_is(title: str) -> None:
    compile(BLOCKS[title], title, "exec")
    assert re.fullmatch(r"[\w.]+: # \w.*", title)


def test_titles_are_unique() -> None:
    marks = sum(place.read_text("utf-8").count("```python\n") for place in DOCUMENTS)
    assert len(BLOCKS) == marks
    assert set(BLOCKS) >= ELSEWHERE


@pytest.fixture
async def reme(tmp_path: Path) -> AsyncIterator[ReMe]:
    async with ReMe(tmp_path / "open", settings=Settings(watch=False, fsync=False)) as memory:
        await memory.write(CARD, "# Launch\n\n- On 9 July.\n")
        yield memory


def given(title: str, reme: ReMe, folder: Path) -> dict[str, Any]:
    """What a block may ask for by the names of its arguments."""
    from agentscope.tool import Toolkit

    steps = next((steps for start, steps in STEPS.items() if title.startswith(start)), [])
    known = {"reme": reme, "model": ScriptedChatModel(steps), "toolkit": Toolkit()}
    known |= dict.fromkeys(("tmp_path", "workspace_dir", "working_dir", "workspace"), folder)
    if installed_line() == 1:
        from agentscope.formatter import OpenAIChatFormatter

        known["formatter"] = OpenAIChatFormatter()
    return known


@pytest.mark.parametrize("title", RUN)
async def test_a_block_runs(
    title: str, reme: ReMe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "never used")
    monkeypatch.setenv("MEMORY_STORE_BACKEND", "local")
    resource = tmp_path / "memory/resource/2026-06-20/a.md"
    resource.parent.mkdir(parents=True)
    resource.write_text("# A\n\nText.\n", "utf-8")
    names: dict[str, Any] = {"__name__": "block"}
    exec(compile(BLOCKS[title], title, "exec"), names)
    calls = [
        value for value in names.values() if inspect.isfunction(value) and is_entry(value.__name__)
    ]
    assert len(calls) == 1
    known = given(title, reme, tmp_path / "memory")
    wanted = inspect.signature(calls[0]).parameters
    done = calls[0](**{name: known[name] for name in wanted if name in known})
    if inspect.isawaitable(done):
        await done


def is_entry(name: str) -> bool:
    return name in ("main", "open_memory", "make_agent") or name.startswith("test_")


async def test_the_resource_block_makes_the_card(reme: ReMe, tmp_path: Path) -> None:
    names: dict[str, Any] = {}
    exec(BLOCKS["resources.md: # cards of resources"], names)
    resource = tmp_path / "memory/resource/2026-06-20/a.md"
    resource.parent.mkdir(parents=True)
    resource.write_text("# A\n\nText.\n", "utf-8")
    known = given("resources.md: # cards of resources", reme, tmp_path / "memory")
    every, again = await names["main"](known["workspace_dir"], known["model"])
    assert [card.action for card in every.cards] == ["created"]
    assert (again.cards, again.unchanged) == ([], 1)


async def test_the_forgetting_block_forgets(reme: ReMe) -> None:
    names: dict[str, Any] = {}
    exec(BLOCKS["forgetting.md: # forget that"], names)
    result = await names["main"](reme)
    assert not result.dry_run
    assert not (reme.workspace.root / CARD).exists()
