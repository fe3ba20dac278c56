"""Fixtures of the AgentScope 1.x tests."""

from __future__ import annotations

from tests.loopback.fixtures import provider

__all__ = ["provider"]
