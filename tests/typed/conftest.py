"""Typed memories on one folder, each as a new process would open it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme import Settings, VectorReMe
from agentscope_reme.testing import FakeClock, Script, ScriptedChatModel
from tests.loopback.fixtures import provider
from tests.typed.models import WordVectors

__all__ = ["provider"]

QUIET = Settings(fsync=False)

Open = Callable[..., VectorReMe]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock("2026-03-01T09:30:00", timezone="Europe/Berlin", step=1.0)


@pytest.fixture
def vectors() -> WordVectors:
    return WordVectors()


@pytest.fixture
def open_memory(tmp_path: Path, clock: FakeClock, vectors: WordVectors) -> Open:
    """Opens the one store of the test again: with a script of a model, or without one."""

    def open_it(script: Script | Iterable[Any] | None = None, **options: Any) -> VectorReMe:
        options.setdefault("settings", QUIET)
        options.setdefault("clock", clock)
        options.setdefault("embedding_model", vectors)
        if script is not None:
            options["chat_model"] = ScriptedChatModel(script)
        return VectorReMe(tmp_path / "memory", **options)

    return open_it
