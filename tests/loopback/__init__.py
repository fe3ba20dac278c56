"""Model providers on this machine's loopback interface, for tests that use real clients."""

from __future__ import annotations

from tests.loopback.script import Reply, Request, ToolCall
from tests.loopback.server import LoopbackProvider

__all__ = ["LoopbackProvider", "Reply", "Request", "ToolCall"]
