"""Memories with an embedding model for texts and pictures."""

from __future__ import annotations

from agentscope_reme.agentscope_line import installed_line
from tests.loopback.fixtures import dashscope_address, provider
from tests.stories.conftest import clock, open_memory

__all__ = ["clock", "dashscope_address", "open_memory", "provider"]

collect_ignore_glob = ["test_*.py"] if installed_line() is None else []
