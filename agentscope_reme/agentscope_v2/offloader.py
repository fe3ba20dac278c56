"""What an AgentScope 2.x agent takes out of its context, kept in the memory and found again."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Final, Protocol, cast, runtime_checkable

from agentscope.message import Base64Source, DataBlock, Msg, ToolResultBlock, URLSource

from agentscope_reme import messages as neutral
from agentscope_reme.agentscope_v2.dropped import archived_id
from agentscope_reme.agentscope_v2.messages import is_recalled, to_neutral
from agentscope_reme.context import ResultLimits, result_paths
from agentscope_reme.errors import BadInput, StorageFailed
from agentscope_reme.messages import Message
from agentscope_reme.ports import MemoryService, OffloadService
from agentscope_reme.runtime.starting import started
from agentscope_reme.workspace import Workspace

IMAGES_SESSION: Final = "offloaded-attachments"
"""The session under which offloaded attachments are archived; AgentScope names none for them."""

_NOWHERE: Final = "nowhere: it could not be saved"
_WHOLE: Final = ResultLimits.everywhere(0)
_ATTACHMENTS: Final = ResultLimits.everywhere(10**9)


@runtime_checkable
class OffloadingMemory(MemoryService, OffloadService, Protocol):
    """A memory with a workspace of files; `ReMe` is one."""

    @property
    def workspace(self) -> Workspace:
        """Where the files are."""


class ReMeOffloader:
    """Keeps what AgentScope offloads in the workspace of a memory: ``Agent(offloader=...)``.

    Compressed messages and the cut-off rests of tool results are archived under
    ``session/agentscope/``, where `search` finds them after the distilled layers. Tool results and
    attachments are kept as files under ``tool_result/`` as well, which the memory tools read. What
    is told to the model is a path those tools take; an attachment is a ``file://`` URL, which every
    formatter of AgentScope reads, never one that only a workspace could resolve.

    It may stand in front of another offloader, such as a workspace of the agent service, and then
    does its part first; the agent is told the place the other one names, as before. Together with
    `ReMeMemoryMiddleware` nothing is archived twice.

    A failure never costs a reply: it is reported to the memory.

    Args:
        reme: the memory; started when it was not.
        inner: an offloader that is called as well.

    Raises:
        BadInput: `reme` has no workspace for tool results.
    """

    def __init__(self, reme: OffloadingMemory, inner: Any = None) -> None:
        if not isinstance(reme, OffloadingMemory):
            raise BadInput(type(reme).__name__, "it keeps no tool results", "Pass a `ReMe`.")
        self._reme = reme
        self._inner = inner

    async def offload_context(self, session_id: str, msgs: list[Msg]) -> str:
        """Archive messages that leave the context.

        Args:
            session_id: the conversation.
            msgs: oldest first; the first and the last may be parts of messages.

        Returns:
            Where they are, for the model.
        """
        place = _NOWHERE
        try:
            await started(self._reme)
            place = await self._reme.archive(session_id, _archived(msgs))
        except Exception as error:  # noqa: BLE001 - memory must never cost a reply
            self._reme.report_failure("offloader.context", error)
        if self._inner is not None:
            return str(await self._inner.offload_context(session_id, msgs))
        return place

    async def offload_tool_result(self, session_id: str, tool_result: ToolResultBlock) -> str:
        """Keep what was cut off a tool result.

        Args:
            session_id: the conversation.
            tool_result: the rest that does not stay in the context.

        Returns:
            Where it is, for the model.
        """
        place = _NOWHERE
        try:
            await started(self._reme)
            place = await self._keep_result(session_id, tool_result)
        except Exception as error:  # noqa: BLE001 - memory must never cost a reply
            self._reme.report_failure("offloader.tool_result", error)
        if self._inner is not None:
            return str(await self._inner.offload_tool_result(session_id, tool_result))
        return place

    async def offload_data_block(self, block: DataBlock) -> DataBlock:
        """Keep an attachment as a file.

        Args:
            block: one that is a URL already is returned as it is.

        Returns:
            The same attachment as a ``file://`` URL; the given one when it could not be saved.
        """
        if not isinstance(block.source, Base64Source):
            return block
        kept = block
        try:
            await started(self._reme)
            kept = await self._keep_attachment(block)
        except Exception as error:  # noqa: BLE001 - memory must never cost a reply
            self._reme.report_failure("offloader.data_block", error)
        if kept is block and self._inner is not None and hasattr(self._inner, "offload_data_block"):
            told: DataBlock = await self._inner.offload_data_block(block)
            return told
        return kept

    async def _keep_result(self, session_id: str, block: ToolResultBlock) -> str:
        now = self._reme.clock.now()
        name = block.name or "tool"
        rest = Message(role="system", name=name, created_at=now, blocks=(_result_of(block),))
        paths = await self._saved(rest, _WHOLE)
        texts = [path for path in paths if path.endswith(".txt")]
        note = " ".join(paths)
        whole = rest.blocks[0].model_copy(update={"omitted": note})
        named = f"{block.id}:{hashlib.sha256(note.encode()).hexdigest()[:12]}"
        kept = rest.model_copy(update={"id": named, "blocks": (whole,)})
        archive = await self._reme.archive(session_id, [kept])
        return (texts or paths or [archive])[0]

    async def _keep_attachment(self, block: DataBlock) -> DataBlock:
        source: Any = block.source
        data = neutral.DataBlock(media_type=source.media_type, data=source.data)
        result = neutral.ToolResultBlock(id=block.id, name="attachment", output=(data,))
        message = Message(role="system", name="attachment", blocks=(result,))
        paths = await self._saved(message, _ATTACHMENTS)
        if not paths:
            raise StorageFailed(block.id, "the attachment was not saved", "Look at its data.")
        place = self._reme.workspace.locate(paths[0])
        if block.name:
            await self._reme.archive(IMAGES_SESSION, [_named(block, source.media_type, paths[0])])
        url = {"url": place.as_uri(), "media_type": source.media_type}
        return block.model_copy(update={"source": URLSource.model_validate(url)})

    async def _saved(self, message: Message, limits: ResultLimits) -> list[str]:
        short = await self._reme.offload_tool_results([message], limits)
        return sorted(result_paths(short))


def _archived(msgs: Sequence[Msg]) -> list[Message]:
    """What leaves, under the ids by which `ReMeMemoryMiddleware` archives the same."""
    kept = []
    for msg in msgs:
        blocks = [block for block in msg.content if block.type != "hint"]
        if not blocks or is_recalled(msg):
            continue
        kept.append(to_neutral(msg, blocks, message_id=archived_id(msg, blocks)))
    return kept


def _result_of(block: ToolResultBlock) -> neutral.ToolResultBlock:
    whole = Msg(name=block.name or "tool", role="assistant", content=[block])
    (result,) = to_neutral(whole).blocks
    return cast("neutral.ToolResultBlock", result)


def _named(block: DataBlock, media_type: str, path: str) -> Message:
    return Message(
        id=block.id,
        role="user",
        name="attachment",
        blocks=(
            neutral.TextBlock(text=str(block.name)),
            neutral.DataBlock(media_type=media_type, path=path),
        ),
    )
