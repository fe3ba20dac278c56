"""An in-memory service, and the provider on the loopback interface."""

from __future__ import annotations

import pytest

from tests.agentscope_v2.memory_service import InMemoryService
from tests.loopback.fixtures import provider

__all__ = ["provider"]


@pytest.fixture
def memory() -> InMemoryService:
    return InMemoryService()
