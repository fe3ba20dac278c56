"""Memories on one folder, and notes to dream of."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme import ReMe, Settings
from agentscope_reme.agentscope_line import installed_line
from agentscope_reme.testing import FakeClock

collect_ignore = ["test_real_agents_dream.py"] if installed_line() is None else []

QUIET = Settings(watch=False, fsync=False)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock("2026-06-20T23:00:00", timezone="Europe/Berlin")


@pytest.fixture
def open_memory(tmp_path: Path, clock: FakeClock) -> Callable[..., ReMe]:
    """Opens the one workspace of the test again, with a model or without."""

    def open_it(model: Any = None, **options: Any) -> ReMe:
        options.setdefault("settings", QUIET)
        options.setdefault("clock", clock)
        return ReMe(tmp_path / "memory", chat_model=model, **options)

    return open_it


async def note(reme: ReMe, day: str, name: str, *facts: str) -> str:
    """A daily note that holds facts such as ``[personal] Tea: green``."""
    body = "\n".join(f"- {fact}" for fact in facts)
    written = await reme.daily_write(
        name, f"What was said of {name}.", f"# {name}\n\n{body}\n", date=day
    )
    return written.path


def documents(reme: ReMe) -> dict[str, bytes]:
    """Every file a person can see, by path."""
    root = reme.workspace.root
    layers = ("daily", "digest", "session", "resource")
    places = (place for layer in layers for place in (root / layer).rglob("*"))
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in places if p.is_file()}
