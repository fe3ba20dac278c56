"""CoPaw memories on one folder, each as a new process would open it."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from agentscope.formatter import OpenAIChatFormatter
from agentscope.tool import Toolkit

from agentscope_reme import ReMeCopaw, Settings
from agentscope_reme.copaw.environment import CopawEnvironment
from agentscope_reme.testing import FakeClock, ScriptedChatModel
from tests.loopback.fixtures import provider

__all__ = ["provider"]

collect_ignore = [] if find_spec("chromadb") else ["test_a_memory_in_chroma.py"]

QUIET = Settings(watch=False, fsync=False)
DAY = "2026-06-20"
TODAY = f"memory/{DAY}.md"
Open = Callable[..., ReMeCopaw]


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"EMBEDDING_{name.upper()}" for name in CopawEnvironment.__dataclass_fields__]
    for name in (*names, "FTS_ENABLED"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MEMORY_STORE_BACKEND", "local")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(f"{DAY}T09:30:00", timezone="Europe/Berlin")


@pytest.fixture
def open_copaw(tmp_path: Path, clock: FakeClock) -> Open:
    """Opens the one folder of the test again, with what a model will say."""

    def open_it(steps: Any = (), **options: Any) -> ReMeCopaw:
        model = steps if steps is None or hasattr(steps, "model_name") else ScriptedChatModel(steps)
        options.setdefault("settings", QUIET)
        options.setdefault("clock", clock)
        options.setdefault("language", "")
        options.setdefault("toolkit", Toolkit())
        options.setdefault("token_counter", None)
        options.setdefault("max_input_length", 128_000)
        options.setdefault("memory_compact_ratio", 0.7)
        return ReMeCopaw(
            str(tmp_path / "work"), chat_model=model, formatter=OpenAIChatFormatter(), **options
        )

    return open_it
