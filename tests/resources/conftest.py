"""Memories on one folder, with files put into ``resource/`` the way a person does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from agentscope_reme.agentscope_line import installed_line
from tests.loopback.fixtures import dashscope_address, provider
from tests.stories.conftest import clock, open_memory

__all__ = ["clock", "dashscope_address", "open_memory", "provider"]

collect_ignore_glob = ["test_*.py"] if installed_line() is None else []

Put = Callable[..., str]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "memory"


@pytest.fixture
def put(root: Path) -> Put:
    """Puts a file below ``resource/``, past the library; returns its workspace path."""

    def put_it(name: str, content: str | bytes) -> str:
        place = root / "resource" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode() if isinstance(content, str) else content)
        return f"resource/{name}"

    return put_it
