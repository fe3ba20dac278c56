"""Draws a conversation: words as they come, thinking in grey, a line for every tool."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from typing import Any, Final

from rich.console import Console
from rich.live import Live
from rich.status import Status
from rich.text import Text

from agentscope_reme.chat.words import say
from agentscope_reme.messages import DataBlock, Message, TextBlock, ToolCallBlock, ToolResultBlock
from agentscope_reme.ports import Delta

_CALL_CHARACTERS: Final = 120
_RESULT_CHARACTERS: Final = 100
_GREY: Final = "bright_black"
_TOOL: Final = "cyan"

_CONTROL: Final = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def visible(text: str) -> str:
    """A text without what could steer a terminal: what a model or a file says is only shown.

    Nor are half characters in it, which no terminal can be sent.
    """
    return _CONTROL.sub("�", text.replace("\r\n", "\n"))


class Screen:
    """Where a conversation is drawn.

    Args:
        answers: takes what the model says.
        aside: takes everything else; the same for a person at a terminal.
        language: of its own words.
    """

    def __init__(self, answers: Console, aside: Console, language: str) -> None:
        self._answers = answers
        self._aside = aside
        self._language = language
        self._status: Status | None = None
        self._film: Live | None = None
        self._open: bool | None = None  # an unfinished line: of thinking, or of an answer

    @property
    def is_terminal(self) -> bool:
        """Whether a person sees what is drawn."""
        return self._aside.is_terminal

    @property
    def width(self) -> int:
        """Columns of the terminal."""
        return self._aside.width

    async def frame(self, lines: Sequence[str], seconds: float) -> None:
        """Show a picture in place of the one before, for a moment."""
        picture = Text("\n".join(lines), style="yellow", no_wrap=True)
        if self._film is None:
            self.quiet()
            self._film = Live(console=self._aside, auto_refresh=False, transient=True)
            self._film.start()
        self._film.update(picture, refresh=True)
        await asyncio.sleep(seconds)

    def waiting(self, name: str, /, **values: object) -> None:
        """Show, until something else is drawn, what is waited for."""
        self._end_line()
        text = say(name, self._language, **values)
        if not self._aside.is_terminal:
            return
        if self._status is None:
            self._status = self._aside.status(text, spinner="dots")
            self._status.start()
        else:
            self._status.update(text)

    def quiet(self) -> None:
        """Nothing is waited for any more; whatever comes begins on a line of its own."""
        if self._status is not None:
            self._status.stop()
            self._status = None
        if self._film is not None:
            self._film.stop()
            self._film = None
        self._end_line()

    def said(self, piece: Delta) -> None:
        """A piece of what the model says or thinks."""
        if self._open is not piece.thinking:
            self.quiet()
            self._open = piece.thinking
        console = self._aside if piece.thinking else self._answers
        style = _GREY if piece.thinking else ""
        console.print(Text(visible(piece.text), style=style), end="", soft_wrap=True)

    def spoke(self, message: Message) -> None:
        """A whole message; its words were shown as they came, its tools were not."""
        for block in message.blocks:
            if isinstance(block, ToolCallBlock):
                self._line(f"● {block.name} {_arguments(block.input)}", _TOOL)
            elif isinstance(block, ToolResultBlock):
                self._line(f"  ↳ {_result(block)}", _GREY)
        self._end_line()

    def notice(self, name: str, /, **values: object) -> None:
        """Something the terminal says by itself."""
        self._line(say(name, self._language, **values), _GREY)

    def failure(self, text: object) -> None:
        """Something that went wrong."""
        self._line(str(text), "red")

    def plain(self, text: str = "", style: str = "") -> None:
        """Lines the person asked for."""
        self._line(text, style)

    def _line(self, text: str, style: str) -> None:
        self.quiet()
        self._aside.print(Text(visible(text), style=style), soft_wrap=True)

    def _end_line(self) -> None:
        if self._open is not None:
            (self._aside if self._open else self._answers).print()
            self._open = None


def _arguments(text: str) -> str:
    """What a tool was called with, in one short line."""
    try:
        given: Any = json.loads(text or "{}")
    except ValueError:
        given = text
    if isinstance(given, dict):
        values = [str(value) for value in given.values()]
        given = values[0] if len(values) == 1 else ", ".join(f"{k}={v}" for k, v in given.items())
    return one_line(str(given), _CALL_CHARACTERS)


def _result(block: ToolResultBlock) -> str:
    texts = [part.text for part in block.output if isinstance(part, TextBlock)]
    binaries = [part.media_type for part in block.output if isinstance(part, DataBlock)]
    said = one_line("\n".join(texts), _RESULT_CHARACTERS) or str(block.omitted or "")
    return " ".join([said, *(f"[{kind}]" for kind in binaries)]).strip() or "-"


def one_line(text: str, most: int) -> str:
    """The words of a text in one line, cut to so many characters."""
    words = " ".join(text.split())
    return words if len(words) <= most else f"{words[: most - 1]}…"
