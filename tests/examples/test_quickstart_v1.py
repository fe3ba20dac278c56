"""The quick start for AgentScope 1.x runs, and stays short."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
import quickstart_v1
from stand_in_model import make_stand_in


async def test_the_second_agent_remembers_what_the_first_was_told(tmp_path: Path) -> None:
    model, formatter = make_stand_in()
    answer = await quickstart_v1.talk(model, formatter, str(tmp_path))
    assert "75 degrees" in answer
    assert "daily/" in answer


def test_without_a_key_it_ends_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DASHSCOPE_API_KEY", raising=False)
    with pytest.raises(SystemExit, match=r"DASHSCOPE_API_KEY.*make demo"):
        runpy.run_path(quickstart_v1.__file__, run_name="__main__")


def test_it_is_under_60_lines() -> None:
    assert len(Path(quickstart_v1.__file__).read_text(encoding="utf-8").splitlines()) < 60
