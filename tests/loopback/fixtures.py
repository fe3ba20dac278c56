"""Fixtures to import into a ``conftest.py``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import pytest_asyncio

from tests.loopback.server import LoopbackProvider


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackProvider]:
    """A running provider; the test fails when something unscripted reached it."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with LoopbackProvider() as running:
        yield running


@pytest_asyncio.fixture
async def dashscope_address() -> AsyncIterator[None]:
    """What DashScope keeps for the whole process and for an event loop, put back after a test.

    Its address is a variable of the process, which AgentScope's model class overwrites. Its HTTP
    session lives as long as the loop, which ends with the test, and is closed by nobody else.
    """
    import dashscope

    before = dashscope.base_http_api_url
    yield
    dashscope.base_http_api_url = before
    close_session: Any = dashscope.close_shared_aio_session
    await close_session()
