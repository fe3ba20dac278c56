"""What a compression took out of an agent's context."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from agentscope.message import HintBlock, Msg
from agentscope.message import ToolResultBlock as ScopeToolResult

from agentscope_reme.agentscope_v2.messages import is_recalled, to_neutral
from agentscope_reme.agentscope_v2.turns import key_of, segment_id, size_of
from agentscope_reme.messages import Message


class Snapshot:
    """A context as it is now; later replacements of messages and blocks do not reach it.

    AgentScope compresses, or looks whether it must, before every call of the model. So taking one
    copies lists and nothing in them, and seeing that nothing changed compares references.

    Args:
        context: the messages of an agent.
    """

    def __init__(self, context: Sequence[Msg]) -> None:
        self._messages: Final = list(context)
        self._contents: Final = [list(msg.content) for msg in context]
        self._outputs: Final = [
            (block, list(block.output))
            for content in self._contents
            for block in content
            if isinstance(block, ScopeToolResult) and isinstance(block.output, list)
        ]

    def differs_from(self, context: Sequence[Msg]) -> bool:
        """Whether a message, a block or a part of a tool result is not there any more, or new."""
        return not (
            len(self._messages) == len(context)
            and all(a is b for a, b in zip(self._messages, context, strict=True))
            and all(_same(kept, m.content) for kept, m in zip(self._contents, context, strict=True))
            and all(_same(kept, block.output) for block, kept in self._outputs)
        )

    def messages(self) -> list[Msg]:
        """The messages as they were."""
        outputs = {id(block): kept for block, kept in self._outputs}

        def as_it_was(block: Any) -> Any:
            kept = outputs.get(id(block))
            return block if kept is None else block.model_copy(update={"output": kept})

        return [
            msg.model_copy(update={"content": [as_it_was(block) for block in content]})
            for msg, content in zip(self._messages, self._contents, strict=True)
        ]


def _same(kept: Sequence[Any], now: Sequence[Any]) -> bool:
    return len(kept) == len(now) and all(a is b for a, b in zip(kept, now, strict=True))


def dropped(
    before: Iterable[Msg], after: Iterable[Msg], originals: Mapping[str, Msg]
) -> list[Message]:
    """What was in a context before and is not any more, in full.

    Args:
        before: the messages of a `Snapshot`.
        after: the context now.
        originals: this turn's inputs by id, taken whole instead of what became of them.
    """
    left = {stamp for msg in after for block in msg.content for stamp in _stamps(msg, block)}
    lost = []
    for msg in before:
        gone = [b for b in msg.content if not _stamps(msg, b) <= left]
        gone = [b for b in gone if not isinstance(b, HintBlock)]
        if not gone or is_recalled(msg):
            continue
        original = originals.get(msg.id)
        if original is not None:
            lost.append(to_neutral(original))
        else:
            lost.append(to_neutral(msg, gone, message_id=archived_id(msg, gone)))
    return lost


def archived_id(msg: Msg, blocks: Sequence[Any]) -> str:
    """The id under which blocks of a message are archived, whoever archives them.

    An agent's own message may leave in several parts; any other one leaves as a whole.
    """
    spoken = [block for block in msg.content if not isinstance(block, HintBlock)]
    whole = msg.role != "assistant" and len(blocks) == len(spoken)
    return msg.id if whole else segment_id(msg.id, blocks)


def _stamps(msg: Msg, block: Any) -> set[tuple[str, str, int]]:
    """A block's identity and size; those of the parts of a tool result too."""
    parts = block.output if isinstance(block, ScopeToolResult) else []
    inner = [part for part in parts if not isinstance(part, str)]
    size = len(parts) if isinstance(parts, str) else size_of(block)
    return {
        (msg.id, key_of(block), size),
        *((msg.id, key_of(part), size_of(part)) for part in inner),
    }
