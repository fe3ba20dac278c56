"""The quick start for AgentScope 2.x runs, and stays short."""

from __future__ import annotations

from pathlib import Path

import quickstart_v2
from stand_in_model import make_stand_in


async def test_the_second_agent_remembers_what_the_first_was_told(tmp_path: Path) -> None:
    model, _ = make_stand_in()
    answer = await quickstart_v2.talk(model, str(tmp_path))
    assert "75 degrees" in answer
    assert "daily/" in answer


def test_it_is_under_60_lines() -> None:
    assert len(Path(quickstart_v2.__file__).read_text(encoding="utf-8").splitlines()) < 60
