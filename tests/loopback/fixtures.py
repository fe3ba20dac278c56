"""Fixtures to import into a ``conftest.py``."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.loopback.server import LoopbackProvider


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackProvider]:
    """A running provider; the test fails when something unscripted reached it."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with LoopbackProvider() as running:
        yield running
