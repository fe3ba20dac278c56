"""A conversation as text and images in their order, for models that see."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from agentscope_reme.messages import Block, DataBlock, Message, TextBlock

IMAGE_SOURCE: Final = "Image source: "
"""What stands before the exact source of an image, on a line of its own above it."""

Piece = TextBlock | DataBlock


class Interleaved:
    """Text and images one after the other; neighbouring texts become one block.

    Args:
        quote: applied to everything a speaker said, and to sources.
        most_images: how many images are shown; further ones are named in words.
    """

    def __init__(
        self, quote: Callable[[str], str] = str, *, most_images: int | None = None
    ) -> None:
        self._quote = quote
        self._left = most_images
        self._pieces: list[Piece] = []
        self._words = ""

    @property
    def blocks(self) -> tuple[Piece, ...]:
        """Everything added so far."""
        return (*self._pieces, *([TextBlock(text=self._words)] if self._words else []))

    def add_words(self, words: str, *, gap: str = "") -> None:
        """Add words of the prompt itself; `gap` comes between them and words right before."""
        self._words += (gap if self._words else "") + words

    def add_prompt(self, blocks: Iterable[Block]) -> None:
        """Add blocks that were made for a prompt before: nothing is put beside them."""
        for block in blocks:
            if isinstance(block, DataBlock) and self._is_shown(block):
                self._show(block)
            elif words := self._words_for(block):
                self.add_words(words, gap="\n\n")

    def add_turn(self, head: str, blocks: Iterable[Block], *, gap: str = "\n\n") -> None:
        """Add what one speaker said and showed; a turn of neither adds nothing.

        Args:
            head: who and when, such as ``[Ann @ 2026-06-20T09:30:00]``; empty for none.
            blocks: of them text, images and the mention of other binaries are used.
            gap: what separates the turn from words right before.
        """
        begun = False
        for block in blocks:
            words = self._words_for(block)
            if not words and not self._is_shown(block):
                continue
            if not begun:
                between = " " if isinstance(block, TextBlock) else "\n"
                words = between.join(filter(None, (head, words)))
            if words:
                self.add_words(words, gap="\n" if begun else gap)
            begun = True
            if isinstance(block, DataBlock) and self._is_shown(block):
                self._show(block)

    def _words_for(self, block: Block) -> str:
        if isinstance(block, TextBlock):
            return self._quote(block.text) if block.text.strip() else ""
        if not isinstance(block, DataBlock):
            return ""
        if not self._is_shown(block):
            return self._quote(mention(block))
        source = source_of(block)
        return IMAGE_SOURCE + self._quote(source) if source else ""

    def _is_shown(self, block: Block) -> bool:
        return isinstance(block, DataBlock) and is_visible(block) and self._left != 0

    def _show(self, block: DataBlock) -> None:
        if self._words:
            self._pieces.append(TextBlock(text=self._words))
            self._words = ""
        self._pieces.append(block.model_copy(update={"path": None}))
        if self._left is not None:
            self._left -= 1


def head_of(message: Message) -> str:
    """Who and when, as a turn begins; the time as it was given, or nothing about it."""
    moment = message.created_at
    when = moment.isoformat(timespec="seconds") if moment else message.created_at_text
    name = " ".join(message.name.split())
    return f"[{name} @ {when}]" if when else f"[{name}]"


def is_visible(block: Block) -> bool:
    """Whether a block is an image a model can be shown: its data or its address is there."""
    return isinstance(block, DataBlock) and block.is_image and bool(block.data or block.url)


def source_of(block: DataBlock) -> str:
    """How a card cites an image: a link to the saved file, else its address; empty for neither."""
    if block.path:
        return f"[[{block.path}]]"
    return block.url or ""


def mention(block: DataBlock) -> str:
    """Words that stand for a binary that is not shown."""
    return f"({block.media_type}: {source_of(block) or 'not kept'})"
