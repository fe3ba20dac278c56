"""All hooks on one agent, with one call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from agentscope_reme.agentscope_v1.tool_layers import ToolLayer
from agentscope_reme.errors import BadInput
from agentscope_reme.hooks.post_reply import AutoMemoryHook
from agentscope_reme.hooks.pre_reasoning import MemoryCompactionHook, RecallHook, ToolImageHook
from agentscope_reme.ports import MemoryService
from agentscope_reme.workspace import encode_name

if TYPE_CHECKING:
    from agentscope.agent import ReActAgent

_OWNER: Final = "agentscope_reme"
_MODES: Final = ("auto", "agent", "both", "off")


@dataclass(slots=True)
class Attachment:
    """What `attach_v1` put on an agent."""

    agent: ReActAgent
    recorder: AutoMemoryHook | None = None
    tools: ToolLayer | None = None
    hooks: list[tuple[str, str, Callable[..., Any]]] = field(default_factory=list)

    async def flush(self) -> int:
        """Save what an interrupted last turn left; returns how many messages that were.

        Raises:
            ReMeError: the session's log could not be written.
        """
        return await self.recorder.save(self.agent) if self.recorder is not None else 0

    def detach(self) -> None:
        """Take hooks and tools off the agent; what another call or the toolkit put there stays."""
        for moment, name, hook in self.hooks:
            if getattr(self.agent, f"_instance_{moment}_hooks").get(name) is hook:
                self.agent.remove_instance_hook(moment, name)
        self.hooks.clear()
        if self.recorder is not None:
            self.recorder.leave(self.agent)
        if self.tools is not None:
            self.tools.remove()


def attach_v1(
    reme: MemoryService,
    agent: ReActAgent,
    *,
    session_id: str,
    recall: str | bool = "auto",
    record: bool = True,
    compact: bool = True,
) -> Attachment:
    """Give an agent memory through instance hooks; its `state_dict` stays as it is.

    Attaching the same memory and session again replaces the hooks, so everything is recorded
    once. Another session of the same memory is refused: one conversation cannot be two.

    Args:
        reme: the memory service; started on first use.
        agent: a `ReActAgent`, or another with its hooks.
        session_id: the conversation this agent has.
        recall: ``auto`` (or ``True``) shows the agent what is known about a turn, ``agent`` gives
            it the memory tools instead, ``both`` does both, ``off`` (or ``False``) neither.
        record: save the conversation.
        compact: keep the window below ``memory_compact_threshold``.

    Raises:
        BadInput: the agent has no such hooks, an argument is not known, or the agent is attached
            to this memory under another session.
    """
    encode_name(session_id)
    if not hasattr(agent, "_instance_pre_reasoning_hooks"):
        raise BadInput(
            type(agent).__name__, "this agent has no reasoning hooks", "Attach to a `ReActAgent`."
        )
    mode = {True: "auto", False: "off"}[recall] if isinstance(recall, bool) else recall
    if mode not in _MODES:
        raise BadInput(recall, "no such kind of recall", f"Use one of {', '.join(_MODES)}.")
    _refuse_other_session(reme, agent, session_id)
    attachment = Attachment(agent)
    suffix = f"{id(reme)}:{session_id}"

    def put(moment: str, what: str, hook: Callable[..., Any]) -> None:
        name = f"{_OWNER}.{what}:{suffix}"
        agent.register_instance_hook(moment, name, hook)
        attachment.hooks.append((moment, name, hook))

    if mode in ("agent", "both"):
        attachment.tools = ToolLayer(agent.toolkit, reme.tools())
    if record:
        attachment.recorder = AutoMemoryHook(reme, session_id)
        put("pre_reply", "catch_up", attachment.recorder)
        put("post_reply", "record", attachment.recorder)
    if compact:
        hook = MemoryCompactionHook(reme, session_id=session_id, record=record)
        put("pre_reasoning", "compact", hook)
    if mode in ("auto", "both"):
        put("pre_reasoning", "recall", RecallHook(reme))
    put("pre_reasoning", "tool_images", ToolImageHook(reme))
    return attachment


def _refuse_other_session(reme: MemoryService, agent: ReActAgent, session_id: str) -> None:
    names = [
        name
        for moment in ("pre_reply", "post_reply", "pre_reasoning")
        for name in getattr(agent, f"_instance_{moment}_hooks")
    ]
    for name in names:
        what, _, session = name.partition(f":{id(reme)}:")
        if what.startswith(f"{_OWNER}.") and session not in ("", session_id):
            raise BadInput(
                session_id,
                f"this agent is attached to this memory as the session {session!r}",
                "Call `detach()` of that handle first, or use the same session.",
            )
