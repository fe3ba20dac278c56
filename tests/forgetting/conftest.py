from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme import ReMe, Settings
from agentscope_reme.testing import FakeClock, ScriptedChatModel
from tests.forgetting.life import SCRIPT, live

QUIET = Settings(watch=False, fsync=False)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock("2026-06-20T09:30:00", timezone="Europe/Berlin")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "memory"


@pytest.fixture
def open_memory(root: Path, clock: FakeClock) -> Callable[..., ReMe]:
    def open_it(model: Any = None, **options: Any) -> ReMe:
        options.setdefault("settings", QUIET)
        options.setdefault("clock", clock)
        return ReMe(root, chat_model=model, **options)

    return open_it


@pytest.fixture
async def lived(open_memory: Callable[..., ReMe]) -> AsyncIterator[ReMe]:
    """A memory in which the secret is everywhere."""
    async with open_memory(ScriptedChatModel(SCRIPT)) as reme:
        await live(reme)
        yield reme
