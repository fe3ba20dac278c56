"""The commands a person may type instead of a message."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from agentscope_reme.chat.display import Screen, one_line
from agentscope_reme.chat.horse import celebrate
from agentscope_reme.chat.words import say
from agentscope_reme.errors import ReMeError
from agentscope_reme.messages import DataBlock, Message, ToolCallBlock, ToolResultBlock

if TYPE_CHECKING:  # the assistant is loaded while the person types: nothing here waits for it
    from collections.abc import Awaitable, Callable

    from agentscope_reme.chat.assistant import Assistant

    Ready = Callable[[], Awaitable[Assistant]]

COMMANDS: Final = ("/compact", "/new", "/clear", "/history", "/help", "/exit", "/horse")

_PREVIEW: Final = 100

_ALIKE: Final = 0.65
"""How alike a word and a command are (`difflib`'s ratio, 0 to 1) before one is taken for the other:
a slip of the finger or two, never another word."""


def is_command(text: str) -> bool:
    """Whether a line is meant as a command: a slash and a word, not a path."""
    word = text.strip().split(maxsplit=1)[0] if text.strip() else ""
    return word.startswith("/") and word[1:].isalpha()


class Commands:
    """Carries commands out.

    Args:
        ready: waits until the assistant is loaded; those that need none do not wait.
        screen: shows what they say.
        language: ``zh`` for Chinese.
    """

    def __init__(self, ready: Ready, screen: Screen, language: str) -> None:
        self._ready = ready
        self._screen = screen
        self._language = language

    async def run(self, text: str) -> bool:
        """Carry out what is written; whether that worked."""
        name, _, rest = text.strip().partition(" ")
        try:
            match name:
                case "/compact":
                    await (await self._ready()).compact(rest.strip(), self._screen)
                case "/new":
                    await (await self._ready()).begin_anew(self._screen)
                case "/clear":
                    await (await self._ready()).conversation.forget()
                    self._screen.notice("cleared")
                case "/history":
                    self._history(await self._ready())
                case "/help":
                    self._help()
                case "/horse":
                    await celebrate(self._screen, self._language)
                case _:
                    self._unknown(name)
                    return False
        except ReMeError as error:
            self._screen.failure(error)
            return False
        return True

    def _help(self) -> None:
        for name in COMMANDS:
            what = say(f"help_{name.removeprefix('/')}", self._language)
            self._screen.plain(f"{name:10}{what}")
        self._screen.notice("help_keys")

    def _unknown(self, name: str) -> None:
        known = [command.removeprefix("/") for command in COMMANDS]
        near = get_close_matches(name.removeprefix("/").casefold(), known, n=2, cutoff=_ALIKE)
        told = [say("unknown", self._language, name=name)]
        if near:
            names = ", ".join(f"/{one}" for one in near)
            told.append(say("near", self._language, names=names))
        told.append(say("see_help", self._language))
        self._screen.failure(" ".join(told))

    def _history(self, assistant: Assistant) -> None:
        conversation = assistant.conversation
        if conversation.summary:
            self._screen.notice("summary_of_before", text=one_line(conversation.summary, 400))
        if not conversation.messages:
            self._screen.notice("nothing_said")
            return
        sizes = conversation.sizes()
        for number, (message, size) in enumerate(zip(conversation.messages, sizes, strict=True), 1):
            self._screen.plain(f"[{number}] {_head(message, size)}  {_preview(message)}")
        self._screen.notice(
            "history",
            count=len(conversation.messages),
            tokens=conversation.tokens,
            most=assistant.window_tokens,
            share=conversation.tokens / assistant.window_tokens,
        )


def _head(message: Message, size: int) -> str:
    at = f"{message.created_at:%H:%M} " if message.created_at else ""
    return f"{at}{'tool' if message.role == 'system' else message.role} ({size})"


def _preview(message: Message) -> str:
    parts = [message.text]
    for block in message.blocks:
        match block:
            case ToolCallBlock():
                parts.append(f"● {block.name} {block.input}")
            case ToolResultBlock():
                parts.append(f"↳ {block.name}")
            case DataBlock():
                parts.append(f"[{block.media_type}]")
    return one_line(" ".join(filter(None, parts)), _PREVIEW)
