"""Memories on one folder, each as a new process would open it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme import ReMe, Settings
from agentscope_reme.testing import FakeClock

QUIET = Settings(watch=False, fsync=False)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock("2026-06-20T09:30:00", timezone="Europe/Berlin")


@pytest.fixture
def open_memory(tmp_path: Path, clock: FakeClock) -> Callable[..., ReMe]:
    """Opens the one workspace of the test again, with a model or without."""

    def open_it(model: Any = None, **options: Any) -> ReMe:
        options.setdefault("settings", QUIET)
        options.setdefault("clock", clock)
        return ReMe(tmp_path / "memory", chat_model=model, **options)

    return open_it
