"""The provider fixture, and only the files the installed AgentScope can run."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest_asyncio

from agentscope_reme.agentscope_line import installed_line
from tests.loopback.fixtures import provider
from tests.loopback.server import LoopbackProvider

__all__ = ["provider"]

collect_ignore_glob = [f"*_v{line}.py" for line in (1, 2) if line != installed_line()]


@pytest_asyncio.fixture
async def dashscope_at(provider: LoopbackProvider) -> AsyncIterator[LoopbackProvider]:
    """The provider, with DashScope's process-wide address pointing at it for one test."""
    import dashscope

    before = dashscope.base_http_api_url
    dashscope.base_http_api_url = provider.dashscope_url
    yield provider
    dashscope.base_http_api_url = before
    # The SDK keeps one HTTP session per event loop; this loop ends with the test.
    close_session: Any = dashscope.close_shared_aio_session
    await close_session()
