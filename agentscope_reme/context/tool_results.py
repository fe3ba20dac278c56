"""Oversized tool results: the whole goes to a file, head, tail and the file's name stay.

What has been done to a result is noted in `ToolResultBlock.omitted`, never read out of its text,
so a result that quotes our own marks is treated like any other.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from agentscope_reme.context.result_files import ResultFiles, extension_of, text_path
from agentscope_reme.context.terminal import as_shown
from agentscope_reme.errors import BadInput
from agentscope_reme.messages import Block, DataBlock, Message, TextBlock, ToolResultBlock

NOTICE_CHARACTERS: Final = 500
"""The most characters the words around a shortened text take."""

_DRAWN: Final = 250_000
"""Characters of each end of a text that are drawn as a terminal would, at least; drawing takes
about a second for each million."""

_NOTICES: Final = {
    "en": (
        "<<<TRUNCATED>>> ({left_out} characters omitted) <<<END_TRUNCATED>>>",
        "[Full content saved to: {path}]\n[{size} characters, {lines} lines. What is missing here "
        "can be read from that file, by line range.]",
        "[{kind}, {size} bytes. Full content saved to: {path}]",
    ),
    "zh": (
        "<<<TRUNCATED>>> (省略 {left_out} 个字符) <<<END_TRUNCATED>>>",
        "[完整内容保存在: {path}]\n"
        "[共 {size} 个字符，{lines} 行。此处缺少的部分可以按行号范围从该文件读取。]",
        "[{kind}，{size} 字节。完整内容保存在: {path}]",
    ),
}


@dataclass(frozen=True, slots=True)
class ResultLimits:
    """How much of a tool result stays in a window, in characters.

    Attributes:
        old: for results further back.
        recent: for the results at the end of the window, which the model has not worked with yet;
            `old` when it is the smaller one.
        recent_messages: how many of the newest messages with results count as recent, at least:
            all of an unbroken run at the end of the window do.
        recent_images: whether images of recent results stay as they are.
    """

    old: int = 3_000
    recent: int = 50_000
    recent_messages: int = 2
    recent_images: bool = True

    def __post_init__(self) -> None:
        for name in ("old", "recent", "recent_messages"):
            limit = getattr(self, name)
            if not isinstance(limit, int) or limit < 0:
                raise BadInput(limit, f"`{name}` is negative or no whole number", "Use 0 or more.")

    @classmethod
    def everywhere(cls, characters: int) -> ResultLimits:
        """The same limit for every result, images included."""
        return cls(old=characters, recent=characters, recent_messages=0, recent_images=False)


class ToolResultCompactor:
    """Shortens tool results and keeps the whole of them in files.

    Doing it again changes nothing and writes nothing; with smaller limits the same file serves.

    Args:
        files: where payloads go.
        language: ``en`` or ``zh``, for the notices.
        shown: how a path is told to the model; as `files` names it without it.
    """

    def __init__(
        self,
        files: ResultFiles,
        language: str = "en",
        *,
        shown: Callable[[str], str] = str,
    ) -> None:
        self._files = files
        self._notices = _NOTICES.get(language, _NOTICES["en"])
        self._shown = shown

    async def compact(
        self, messages: Sequence[Message], limits: ResultLimits | None = None
    ) -> list[Message]:
        """The same messages with oversized results shortened; untouched ones are the same objects.

        Args:
            messages: a window, oldest first.
            limits: what counts as oversized.

        Raises:
            ReMeError: a payload could not be saved; the given messages are as they were.
        """
        given = limits or ResultLimits()
        if not any(isinstance(b, ToolResultBlock) for m in messages for b in m.blocks):
            return list(messages)
        return await asyncio.to_thread(self._compact, messages, given)

    def _compact(self, messages: Sequence[Message], limits: ResultLimits) -> list[Message]:
        recent = _recent(messages, limits.recent_messages)
        return [
            self._message(
                message,
                max(limits.old, limits.recent) if place in recent else limits.old,
                images=not (place in recent and limits.recent_images),
            )
            for place, message in enumerate(messages)
        ]

    def _message(self, message: Message, limit: int, *, images: bool) -> Message:
        blocks: tuple[Block, ...] = tuple(
            self._result(block, limit, images=images)
            if isinstance(block, ToolResultBlock) and block.output
            else block
            for block in message.blocks
        )
        same = all(new is old for new, old in zip(blocks, message.blocks, strict=True))
        return message if same else message.model_copy(update={"blocks": blocks})

    def _result(self, block: ToolResultBlock, limit: int, *, images: bool) -> ToolResultBlock:
        if images and any(_payload(part) is not None for part in block.output):
            block = self._without_binaries(block)
        length = sum(len(part.text) for part in block.output if isinstance(part, TextBlock))
        saved = text_path(block.omitted)
        if length <= (limit if saved is None else limit + NOTICE_CHARACTERS):
            return block
        return self._shortened(block, limit, saved)

    def _shortened(self, block: ToolResultBlock, limit: int, saved: str | None) -> ToolResultBlock:
        words = [part.text for part in block.output if isinstance(part, TextBlock)]
        known = self._files.load(saved) if saved else None
        text = "\n".join(words) if known is None else known.decode("utf-8", "replace")
        note = block.omitted
        if saved is None:
            saved = self._files.save(text.encode("utf-8", "surrogatepass"), "txt")
            note = f"{saved} {note}" if note else saved
        short = TextBlock(text=self._preview(text, limit, self._shown(saved)))
        rest = [part for part in block.output if isinstance(part, DataBlock)]
        return block.model_copy(update={"output": (short, *rest), "omitted": note})

    def _preview(self, text: str, limit: int, path: str) -> str:
        gap, pointer, _ = self._notices
        told = pointer.format(
            path=path, size=f"{len(text):,}", lines=f"{text.count(chr(10)) + 1:,}"
        )
        begin, end, left_out = _visible_ends(text, limit - limit // 2, limit // 2)
        if not left_out:
            return f"{begin}{end}\n\n{told}"
        return f"{begin}\n{gap.format(left_out=left_out)}\n{end}\n\n{told}"

    def _without_binaries(self, block: ToolResultBlock) -> ToolResultBlock:
        saved: list[str] = []
        output = tuple(self._reference(part, saved) for part in block.output)
        note = " ".join(filter(None, (block.omitted, *saved))) or None
        return block.model_copy(update={"output": output, "omitted": note})

    def _reference(self, part: TextBlock | DataBlock, saved: list[str]) -> TextBlock | DataBlock:
        payload = _payload(part)
        if not isinstance(part, DataBlock) or payload is None:
            return part
        path = self._files.save(payload, extension_of(part.media_type))
        saved.append(path)
        words = self._notices[2].format(
            kind=part.media_type, size=f"{len(payload):,}", path=self._shown(path)
        )
        return TextBlock(text=words)


def _visible_ends(text: str, head: int, tail: int) -> tuple[str, str, int]:
    """What a terminal shows at the beginning and at the end, and how many characters are between.

    Of a long text only the ends are drawn; what lies between them is counted as it is written.
    """
    part = max(_DRAWN, 4 * (head + tail))
    if len(text) <= 2 * part:
        shown = as_shown(text)
        begin, rest = shown[:head], shown[head:]
        end = rest[max(0, len(rest) - tail) :]
        return begin, end, len(shown) - len(begin) - len(end)
    begin, end = as_shown(text[:part])[:head], as_shown(text[-part:])
    return begin, end[max(0, len(end) - tail) :], len(text) - head - tail


def _recent(messages: Sequence[Message], count: int) -> frozenset[int]:
    """Where the newest results are: the run of results at the end, and at least `count` of all."""
    if not count:
        return frozenset()
    places = [
        place
        for place, message in enumerate(messages)
        if any(isinstance(block, ToolResultBlock) for block in message.blocks)
    ]
    run = 0
    while run < len(places) and places[-1 - run] == len(messages) - 1 - run:
        run += 1
    return frozenset(places[-max(count, run) :])


def _payload(part: TextBlock | DataBlock) -> bytes | None:
    """The bytes of an attachment that stands in the message itself."""
    if not isinstance(part, DataBlock):
        return None
    encoded = part.data
    if encoded is None and (part.url or "").startswith("data:"):
        encoded = (part.url or "").partition(",")[2]
    if not encoded:
        return None
    try:
        return base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return encoded.encode("utf-8", "surrogatepass")  # not Base64: kept as it stands
