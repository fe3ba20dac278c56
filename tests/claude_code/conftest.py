"""A memory on one folder, and the folder where Claude Code keeps its projects."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme import ReMe, Settings
from agentscope_reme.testing import FakeClock


@pytest.fixture
def projects(tmp_path: Path) -> Path:
    return tmp_path / "claude/projects"


@pytest.fixture
def open_memory(tmp_path: Path) -> Callable[..., ReMe]:
    """Opens the one workspace of the test, as a new process would."""
    clock = FakeClock("2026-06-25T09:30:00", timezone="Europe/Berlin")

    def open_it(model: Any = None, **options: Any) -> ReMe:
        options.setdefault("settings", Settings(watch=False, fsync=False))
        return ReMe(tmp_path / "memory", chat_model=model, clock=clock, **options)

    return open_it
