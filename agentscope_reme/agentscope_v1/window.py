"""Compacting a 1.x context window: what leaves it, where it is kept, what stands for it.

The order is what makes it safe: the messages are archived first, then a summary is made, and only
then is anything in the agent's memory changed. Whatever fails before that leaves the window as it
was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from agentscope.message import Msg

from agentscope_reme.agentscope_v1.marks import conversation, is_conversation
from agentscope_reme.agentscope_v1.messages import to_neutral
from agentscope_reme.context.cut import choose_cut
from agentscope_reme.context.fallback import fallback_summary
from agentscope_reme.context.tokens import estimate_messages_tokens, estimate_tokens
from agentscope_reme.errors import ModelRequired
from agentscope_reme.messages import Message
from agentscope_reme.ports import MemoryService
from agentscope_reme.runtime.starting import started

_POINTER: Final = {"en": "The full messages: {path}", "zh": "完整消息：{path}"}


@dataclass(frozen=True, slots=True)
class Compaction:
    """Messages that may leave the window, and the text that stands for them from now on."""

    ids: list[str]
    summary: str


def window_tokens(messages: Sequence[Msg], summary: str = "") -> int:
    """The estimated tokens of messages and a summary; an image counts a fixed number."""
    return estimate_messages_tokens(map(to_neutral, messages)) + estimate_tokens(summary)


async def prepare_compaction(
    reme: MemoryService,
    session_id: str,
    messages: Sequence[Msg],
    *,
    previous_summary: str = "",
    keep_recent: int = 3,
    budget: int | None = None,
    record: bool = False,
) -> Compaction | None:
    """Archive what may leave a window and summarise it; the window itself is not touched.

    Args:
        reme: the memory that archives and summarises.
        session_id: whose archive the messages go to.
        messages: the visible window without its summary, oldest first.
        previous_summary: what stands for everything before them.
        keep_recent: how many messages stay at most, whole tool calls and the last request aside.
        budget: how many estimated tokens stay at most; ``None`` for no such limit.
        record: also add the messages to the session's log.

    Returns:
        ``None`` when nothing may leave.

    Raises:
        ModelFailed: the model failed or said nothing; it is asked again the next time.
        ReMeError: the archive or the log could not be written.
    """
    cut = choose_cut(list(map(_for_cut, messages)), keep_recent=keep_recent, budget=budget)
    leaving = messages[:cut]
    if not leaving:
        return None
    said = conversation(leaving)
    path = await keep(reme, session_id, said, record=record)
    summary = await _summarise(reme, said, previous_summary, path)
    return Compaction([msg.id for msg in leaving], summary)


async def keep(
    reme: MemoryService, session_id: str, messages: Sequence[Message], *, record: bool
) -> str:
    """Make messages durable that are about to leave a window; returns their archive's path.

    Raises:
        ReMeError: the archive or the log could not be written.
    """
    if not messages:
        return ""
    await started(reme)
    path = await reme.archive(session_id, messages)
    if record:
        await reme.record(session_id, messages)
    return path


async def _summarise(
    reme: MemoryService, messages: Sequence[Message], previous: str, path: str
) -> str:
    pointer = f"\n\n[{_POINTER[reme.language].format(path=path)}]" if path else ""
    earlier = previous.removesuffix(pointer)
    try:
        summary = await reme.summarise(messages, previous_summary=earlier)
    except ModelRequired as error:
        # The evidence is archived, so a plain excerpt is safe; an overflowing window would not be.
        reme.report_failure("compaction.summarise", error)
        summary = fallback_summary(messages, earlier, language=reme.language)
    return summary + pointer


def _for_cut(msg: Msg) -> Message:
    """Recalled text looks like a user's turn; as a system turn it cannot pass for the request."""
    message = to_neutral(msg)
    return message if is_conversation(msg) else message.model_copy(update={"role": "system"})
