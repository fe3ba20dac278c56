"""The provider fixture, and only the files the installed AgentScope can run."""

from __future__ import annotations

import pytest_asyncio

from agentscope_reme.agentscope_line import installed_line
from tests.loopback.fixtures import dashscope_address, provider
from tests.loopback.server import LoopbackProvider

__all__ = ["dashscope_address", "provider"]

collect_ignore_glob = [f"*_v{line}.py" for line in (1, 2) if line != installed_line()]


@pytest_asyncio.fixture
async def dashscope_at(provider: LoopbackProvider, dashscope_address: None) -> LoopbackProvider:
    """The provider, with DashScope's process-wide address pointing at it for one test."""
    import dashscope

    dashscope.base_http_api_url = provider.dashscope_url
    return provider
