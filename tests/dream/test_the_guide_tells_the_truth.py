"""The example of the guide runs, and what it says of names and limits is so."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme import ReMe, Settings
from agentscope_reme.steps import dream
from agentscope_reme.steps.dream import node_checks
from tests.dream.conftest import note
from tests.dream.models import Dreamer

GUIDE = (Path(__file__).parents[2] / "docs" / "dream.md").read_text("utf-8")


async def test_the_example_runs(
    open_memory: Callable[..., ReMe], capsys: pytest.CaptureFixture[str]
) -> None:
    [example] = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(example, "docs/dream.md", "exec"), names)
    async with open_memory(Dreamer()) as reme:
        await note(reme, "2026-06-20", "talk", "[personal] Tea: green")
        await names["dream"](reme)
    said = capsys.readouterr().out
    assert "CREATE digest/personal/tea.md Tea" in said
    assert "+- Tea: green (observed 2026-06-20)" in said
    assert "More on Tea ['daily/2026-06-20/talk.md']" in said


def test_steps_and_settings_it_names_exist() -> None:
    assert set(re.findall(r"`(Dream\w+Step)`", GUIDE)) <= set(dream.__all__)
    assert set(re.findall(r"`Settings\.(\w+)`", GUIDE)) <= set(Settings.model_fields)


def test_the_limits_it_names_are_the_limits() -> None:
    assert f"{node_checks.LARGEST_GROWTH:,} bytes for one unit" in GUIDE
    assert f"{node_checks.LARGEST_NEW_NODE:,} for a new node" in GUIDE
    assert f"below {node_checks.LEAST_KEPT:.0%}".replace("%", " %") in GUIDE
