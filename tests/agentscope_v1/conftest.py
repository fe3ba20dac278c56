"""Fixtures of the AgentScope 1.x tests."""

from __future__ import annotations

from tests.loopback.fixtures import dashscope_address, provider

__all__ = ["dashscope_address", "provider"]
