"""Memory at the moments of a 1.x agent's life: before it reasons, before and after it replies.

`attach_v1` registers all of them on one agent; each can also be registered alone with
``agent.register_instance_hook(...)``. They need AgentScope 1.x. The Stop hook of Claude Code,
`agentscope_reme.hooks.claude_code_stop`, is a program of its own and needs none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentscope_reme.agentscope_line import require_line

if TYPE_CHECKING:
    from agentscope_reme.hooks.attach import Attachment, attach_v1
    from agentscope_reme.hooks.post_reply import AutoMemoryHook
    from agentscope_reme.hooks.pre_reasoning import (
        MemoryCompactionHook,
        RecallHook,
        ToolImageHook,
    )

__all__ = [
    "Attachment",
    "AutoMemoryHook",
    "MemoryCompactionHook",
    "RecallHook",
    "ToolImageHook",
    "attach_v1",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    require_line(1, name, "ReMeMemoryMiddleware")
    if name in ("Attachment", "attach_v1"):
        from agentscope_reme.hooks import attach

        return getattr(attach, name)
    from agentscope_reme.hooks import post_reply, pre_reasoning

    return getattr(post_reply if name == "AutoMemoryHook" else pre_reasoning, name)
