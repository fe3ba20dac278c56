"""How large the messages of a 1.x window are, counted once for each text.

A check before every model call must cost next to nothing, so sizes are kept: by text (hashes of
strings are cached by Python itself) and by message, whose size is computed anew only when its
content is another one.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from agentscope.message import Msg

from agentscope_reme.context.tokens import IMAGE_TOKENS, MESSAGE_TOKENS, estimate_tokens

_MOST_TEXTS: Final = 8192
_LONG_TEXT: Final = 20_000  # characters; counting one of these on the event loop would be felt
_MEDIA: Final = ("image", "audio", "video")


class TokenCounter(Protocol):
    """The counting side of AgentScope's token counters; `count` may also be a plain function."""

    async def count(self, messages: list[dict[str, Any]], **kwargs: Any) -> int:
        """How many tokens formatted messages have."""


@dataclass(frozen=True, slots=True)
class BlockSize:
    """The tokens of one content block."""

    type: str
    tokens: int


@dataclass(frozen=True, slots=True)
class MessageSize:
    """The tokens of one message.

    Attributes:
        text_tokens: what its text blocks, or its plain text, count.
        blocks: every block in order; empty for plain text.
        error: why the given counter could not be used for a part of it, in words.
    """

    text_tokens: int
    blocks: tuple[BlockSize, ...] = ()
    error: str = ""

    @property
    def tokens(self) -> int:
        """The whole message, with what a chat template puts around it."""
        inside = sum(block.tokens for block in self.blocks) if self.blocks else self.text_tokens
        return inside + MESSAGE_TOKENS


class WindowMeter:
    """Measures messages with a token counter, or with the built-in estimate.

    Binaries always count a fixed number, because counters take Base64 for text. A counter that
    fails is replaced by the estimate for that text.

    Args:
        counter: an AgentScope token counter; an object with ``tokenizer.encode(text)`` is asked
            for single texts, any other for messages of one text. ``None`` estimates.
    """

    def __init__(self, counter: Any = None) -> None:
        self._count = _function_of(counter)
        self._texts: dict[tuple[int, int], int] = {}  # by hash and length, to keep no text alive
        self._sizes: dict[str, tuple[object, MessageSize]] = {}
        self._faults: list[str] = []

    async def sizes(self, messages: Sequence[Msg]) -> list[MessageSize]:
        """One size for each message; unchanged messages are not measured again."""
        if len(self._sizes) > 2 * len(messages) + 64:
            present = {msg.id for msg in messages}
            self._sizes = {key: size for key, size in self._sizes.items() if key in present}
        return [self._known(msg) or await self._fresh(msg) for msg in messages]

    async def total(self, messages: Sequence[Msg]) -> int:
        """The tokens of all messages together."""
        return sum(size.tokens for size in await self.sizes(messages))

    async def content(self, content: object) -> MessageSize:
        """The size a message with this content would have."""
        return await self._measure(content)

    async def text(self, text: str) -> int:
        """The tokens of one text."""
        if not text:
            return 0
        key = (hash(text), len(text))
        known = self._texts.get(key)
        if known is None:
            known = await self._measured(text)
            if len(self._texts) >= _MOST_TEXTS:
                self._texts.clear()
            self._texts[key] = known
        return known

    async def value(self, value: object) -> int:
        """The tokens of JSON data such as tool schemas, with its keys and punctuation."""
        if not value:
            return 0
        return await self.text(json.dumps(value, ensure_ascii=False, default=str))

    def _known(self, msg: Msg) -> MessageSize | None:
        known = self._sizes.get(msg.id)
        return known[1] if known is not None and known[0] == _stamp(msg.content) else None

    async def _fresh(self, msg: Msg) -> MessageSize:
        stamp = _stamp(msg.content)
        self._faults = []
        size = await self._measure(msg.content)
        self._sizes[msg.id] = (stamp, size)
        return size

    async def _measure(self, content: object) -> MessageSize:
        if isinstance(content, str):
            return MessageSize(await self.text(content), (), self._fault())
        parts = list(content) if isinstance(content, Sequence) else []
        blocks = [BlockSize(_kind(part), await self._block(part)) for part in parts]
        words = sum(block.tokens for block in blocks if block.type == "text")
        return MessageSize(words, tuple(blocks), self._fault())

    async def _block(self, part: object) -> int:
        if not isinstance(part, Mapping):
            return await self.text(str(part))
        match _kind(part):
            case "text":
                return await self.text(str(part.get("text") or ""))
            case "thinking":
                return await self.text(str(part.get("thinking") or ""))
            case "tool_use":
                return await self._call(part)
            case "tool_result":
                return await self.text(str(part.get("name") or "")) + await self._output(part)
            case kind if kind in _MEDIA:
                return IMAGE_TOKENS
            case _:
                return await self.value(dict(part))

    async def _call(self, part: Mapping[str, Any]) -> int:
        given = part.get("input") or part.get("raw_input") or ""
        said = (
            given if isinstance(given, str) else json.dumps(given, ensure_ascii=False, default=str)
        )
        return await self.text(str(part.get("name") or "")) + await self.text(said) + MESSAGE_TOKENS

    async def _output(self, part: Mapping[str, Any]) -> int:
        output = part.get("output")
        if isinstance(output, str):
            return await self.text(output)
        inner = output if isinstance(output, Sequence) else []
        return sum([await self._block(block) for block in inner])

    async def _measured(self, text: str) -> int:
        if self._count is None:
            if len(text) > _LONG_TEXT:
                return await asyncio.to_thread(estimate_tokens, text)
            return estimate_tokens(text)
        try:
            return max(0, int(await self._count(text)))
        except Exception as error:  # noqa: BLE001 - anybody's counter: a bad count must cost nothing
            self._faults.append(f"{type(error).__name__}: {error!s:.200}")
            return estimate_tokens(text)

    def _fault(self) -> str:
        return "; ".join(dict.fromkeys(self._faults))


def _function_of(counter: Any) -> Callable[[str], Any] | None:
    """How the counter counts one text: an async function, or ``None`` without a counter."""
    if counter is None:
        return None
    encode = getattr(getattr(counter, "tokenizer", None), "encode", None)
    return _Encoding(encode) if callable(encode) else _Counting(counter)


@dataclass(frozen=True, slots=True)
class _Encoding:
    encode: Callable[[str], Sequence[int]]

    async def __call__(self, text: str) -> int:
        if len(text) > _LONG_TEXT:
            return len(await asyncio.to_thread(self.encode, text))
        return len(self.encode(text))


@dataclass(slots=True)
class _Counting:
    """A counter of messages; what it adds around a text is measured once and taken off."""

    counter: Any
    around: int | None = field(default=None)

    async def __call__(self, text: str) -> int:
        if self.around is None:
            self.around = await self._counted("")
        return await self._counted(text) - self.around

    async def _counted(self, text: str) -> int:
        found = self.counter.count([{"role": "user", "content": text}])
        return int(await found if inspect.isawaitable(found) else found)


def _kind(part: object) -> str:
    if not isinstance(part, Mapping):
        return "text"
    kind = part.get("type")
    if kind is None and isinstance(part.get("text"), str):
        return "text"
    return str(kind)


def _stamp(content: Any) -> int:
    """Equal for equal content; cheap, because Python keeps the hash of a string.

    Exact types are asked for first: they are what messages are made of, and every message of a
    window is looked at before every model call.
    """
    kind = type(content)
    if kind is str:
        return hash(content)
    if kind is list:
        return hash(tuple([_stamp(part) for part in content]))
    if kind is dict or isinstance(content, Mapping):
        return hash((*content, *[_stamp(value) for value in content.values()]))
    if isinstance(content, Sequence):
        return hash(tuple(map(_stamp, content)))
    return hash(repr(content))
