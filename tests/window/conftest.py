"""Fixtures of the window tests."""

from __future__ import annotations

from tests.loopback.fixtures import provider

__all__ = ["provider"]
