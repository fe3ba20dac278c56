"""How often a tool was called and how it went: counted from the calls, never asked of a model."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from agentscope_reme.clock import Clock
from agentscope_reme.messages import Message, TextBlock, ToolCallBlock, ToolResultBlock
from agentscope_reme.typed.nodes import MemoryNode, MemoryType
from agentscope_reme.typed.times import stamp

STATISTICS: Final = "statistics"
"""Metadata of the one node per tool that holds the counts: true."""

_FAILED: Final = re.compile(
    r"\s*[\[(*]*(?:\w*(?:error|exception)\b|traceback \(|fail(?:ed|ure)\b|错误|失败|异常|报错)",
    re.IGNORECASE,
)
"""How an answer begins that tells of a failure, where nothing says so apart from its words."""


@dataclass(frozen=True, slots=True)
class ToolUsage:
    """Counts of one tool; a call without a result is neither a success nor a failure.

    Attributes:
        calls: how often it was called.
        successes: results that tell of no failure.
        failures: results that do.
        last_used: the time of the latest call, ``YYYY-MM-DD HH:MM:SS``; empty without one.
    """

    calls: int = 0
    successes: int = 0
    failures: int = 0
    last_used: str = ""

    def __add__(self, other: ToolUsage) -> ToolUsage:
        return ToolUsage(
            self.calls + other.calls,
            self.successes + other.successes,
            self.failures + other.failures,
            max(self.last_used, other.last_used),
        )

    @property
    def told(self) -> str:
        """The counts in words."""
        rate = f", success rate {self.successes / done:.0%}" if (done := self._done) else ""
        return (
            f"Called {self.calls} times: {self.successes} succeeded, {self.failures} failed{rate}; "
            f"last used {self.last_used or 'at an unknown time'}."
        )

    @property
    def _done(self) -> int:
        return self.successes + self.failures


def usage_of(
    messages: Sequence[Message], tool_name: str, *, clock: Clock, now: datetime
) -> ToolUsage:
    """The use of one tool in a part of a conversation.

    Args:
        messages: oldest first; a result may stand in another part than its call.
        tool_name: the tool.
        clock: whose zone is meant.
        now: the time of calls that have none.
    """
    found = ToolUsage()
    mine: set[str] = set()
    for message in messages:
        at = stamp(message.created_at or now, clock)
        for block in message.blocks:
            match block:
                case ToolCallBlock(name=name, id=call_id) if name == tool_name:
                    mine.add(call_id)
                    found += ToolUsage(calls=1, last_used=at)
                case ToolResultBlock() if block.name == tool_name or (
                    not block.name and block.id and block.id in mine
                ):
                    failed = tells_of_failure(block)
                    found += ToolUsage(successes=not failed, failures=failed)
    return found


def tells_of_failure(result: ToolResultBlock) -> bool:
    """Whether a tool's result says that it failed: by its mark, its JSON or its first words."""
    if result.failed:
        return True
    text = "\n".join(block.text for block in result.output if isinstance(block, TextBlock))
    if text.lstrip().startswith("{"):
        return _json_of_failure(text)
    return bool(_FAILED.match(text))


def _json_of_failure(text: str) -> bool:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    if not isinstance(value, dict):
        return False
    refused = value.get("success") is False or value.get("ok") is False
    return refused or bool(value.get("error")) or value.get("isError") is True


def statistics_node(
    tool_name: str, usage: ToolUsage, earlier: MemoryNode | None, now: str
) -> MemoryNode:
    """The node with the counts of a tool, these added to what it said before.

    Args:
        tool_name: the tool.
        usage: what is added.
        earlier: the node as it is; ``None`` makes a new one.
        now: ``YYYY-MM-DD HH:MM:SS``.
    """
    total = usage + usage_in(earlier) if earlier is not None else usage
    node = earlier or MemoryNode(
        memory_type=MemoryType.TOOL, memory_target=tool_name, content="", time_created=now
    )
    counts = {
        STATISTICS: True,
        "calls": total.calls,
        "successes": total.successes,
        "failures": total.failures,
        "last_used": total.last_used,
    }
    return node.model_copy(
        update={
            "when_to_use": f"How often {tool_name} is used, and how reliable it is.",
            "content": total.told,
            "time_modified": now,
            "message_time": total.last_used or now,
            "metadata": {**node.metadata, **counts},
        }
    )


def usage_in(node: MemoryNode) -> ToolUsage:
    """The counts a statistics node holds."""

    def count(key: str) -> int:
        value = node.metadata.get(key, 0)
        return int(value) if isinstance(value, int | float) else 0

    return ToolUsage(
        count("calls"),
        count("successes"),
        count("failures"),
        str(node.metadata.get("last_used", "")),
    )
