"""A real, started memory with a clock that stands still."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentscope_reme import ReMe, Settings
from agentscope_reme.testing import FakeClock

QUIET = Settings(watch=False, fsync=False)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock("2026-06-20T09:30:00", timezone="Europe/Berlin")


@pytest.fixture
async def reme(tmp_path: Path, clock: FakeClock) -> AsyncIterator[ReMe]:
    async with ReMe(tmp_path / "memory", clock=clock, settings=QUIET) as memory:
        yield memory
