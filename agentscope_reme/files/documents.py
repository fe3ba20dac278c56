"""A Markdown file that can be changed in one place without touching another byte."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from agentscope_reme.errors import BadDocument
from agentscope_reme.files.front_matter import FrontMatterBlock, find_front_matter
from agentscope_reme.files.text_encoding import BOM, TextEncoding, decode_text


class MarkdownDocument:
    """One file's text, its front matter and its body.

    Nothing is normalised: `dump` gives back the bytes that were parsed, apart from what `set`,
    `remove`, `edit` and `replace_body` changed. Make one with `parse`. An instance belongs to
    one thread at a time.
    """

    __slots__ = ("_block", "_encoding", "_original", "_text")

    def __init__(self, text: str, encoding: TextEncoding, original: bytes | None) -> None:
        self._encoding = encoding
        self._text = text
        self._original = original
        self._block = find_front_matter(text)

    @classmethod
    def parse(cls, data: bytes | str) -> MarkdownDocument:
        """Read a file's bytes, or text that is to become a file (UTF-8).

        Never fails on bytes: broken YAML is reported in `front_matter_error`, and bytes that are
        not UTF-8 are kept as they are.
        """
        if isinstance(data, str):
            return cls(data, TextEncoding(), None)
        text, encoding = decode_text(data)
        return cls(text, encoding, data)

    @property
    def text(self) -> str:
        """The whole file, byte order mark included; undecodable bytes are lone surrogates."""
        return self._text

    @property
    def encoding(self) -> TextEncoding:
        """How the text becomes bytes."""
        return self._encoding

    @property
    def block(self) -> FrontMatterBlock | None:
        """Where the front matter stands in `text`."""
        return self._block

    @property
    def front_matter(self) -> dict[str, Any]:
        """The values by key, keys as written; a link is always the text ``"[[path]]"``."""
        return dict(self._block.values) if self._block else {}

    @property
    def front_matter_error(self) -> str | None:
        """Why the front matter could not be read; ``None`` when it could, or there is none."""
        return self._block.error if self._block else None

    @property
    def body(self) -> str:
        """Everything below the front matter, line endings as they are."""
        return self._text[self._body_start :]

    @property
    def body_start_line(self) -> int:
        """The line of the file, counted from 1, on which the body starts."""
        return self._text.count("\n", 0, self._body_start) + 1

    @property
    def _body_start(self) -> int:
        if self._block is not None:
            return self._block.body_start
        return 1 if self._text.startswith(BOM) else 0

    def set(self, key: str, value: Any) -> None:
        """Give a front matter key a value; only that key's lines change.

        A key that stands there keeps its place, a new one is added below the others; a document
        without front matter gets a block.

        Args:
            key: the key, as it is written in the file.
            value: text, numbers, booleans, dates, ``None``, and lists and mappings of them.

        Raises:
            BadDocument: the front matter cannot be read, or the value cannot be written.
        """
        from agentscope_reme.files.front_matter_edit import set_key  # reading needs no YAML

        _refuse_bad_key(key)
        if not self._encoding.exact and not f"{key}{value!r}".isascii():
            raise _unknown_encoding(f"{key}: {value}")
        block = self._readable_block()
        newline = self._newline()
        if block is None:
            start = self._body_start
            fence = f"---{newline}"
            written = fence + set_key("", key, value, newline) + fence
            self._replace(start, start, written)
        else:
            written = set_key(self._text[block.start : block.end], key, value, newline)
            self._replace(block.start, block.end, written)

    def remove(self, key: str) -> bool:
        """Take a key and its value out of the front matter; false when it is not there.

        Raises:
            BadDocument: the front matter cannot be read.
        """
        from agentscope_reme.files.front_matter_edit import remove_key

        block = self._readable_block()
        if block is None or key not in block.values:
            return False
        written = remove_key(self._text[block.start : block.end], key)
        self._replace(block.start, block.end, written)
        return True

    def edit(self, old: str, new: str, *, replace_all: bool = False) -> int:
        """Replace text in the body.

        Line ends in `old` match ``\\n`` and ``\\r\\n`` alike, and those in `new` become what the
        file uses around the match; everything else is exact.

        Args:
            old: the text to find; it must stand in the body exactly once.
            new: what to put there.
            replace_all: replace every occurrence instead of insisting on one.

        Returns:
            How many occurrences were replaced.

        Raises:
            BadDocument: `old` is empty, missing or ambiguous, or the file's encoding is unknown
                and the edit is not plain ASCII.
        """
        spans = self._spans_of(old, replace_all=replace_all)
        self._refuse_guessing(new, spans)
        self._become("".join(self._with_replaced(spans, new)))
        return len(spans)

    def replace_body(self, text: str) -> None:
        """Put a new body below the front matter, with the line endings the file uses.

        Raises:
            BadDocument: the file's encoding is unknown, or cannot hold the text.
        """
        if not self._encoding.exact and not text.isascii():
            raise _unknown_encoding(text)
        start = self._body_start
        body = _with_newline(text, self._newline()) if "\r\n" in self._text else text
        self._become(self._text[:start] + body)

    def dump(self) -> bytes:
        """The file's bytes.

        Raises:
            BadDocument: the text was given with lone surrogates that stand for no byte.
        """
        return self._original if self._original is not None else self._encoding.encode(self._text)

    def _become(self, text: str) -> None:
        if text == self._text:
            return
        data = self._encoding.encode(text)
        self._text = text
        self._original = data
        self._block = find_front_matter(text)

    def _replace(self, start: int, end: int, written: str) -> None:
        changed = MarkdownDocument(
            self._text[:start] + written + self._text[end:], self._encoding, None
        )
        if changed.body != self.body:
            raise BadDocument(
                written, "this would change where the front matter ends", "Edit the file by hand."
            )
        self._become(changed.text)

    def _readable_block(self) -> FrontMatterBlock | None:
        if self._block is not None and self._block.error is not None:
            raise BadDocument(
                self._text[self._block.start : self._block.end],
                self._block.error,
                "Repair the YAML between the `---` lines first.",
            )
        return self._block

    def _newline(self) -> str:
        """The line ending of the first line; every written front matter line takes it."""
        first = self._text.find("\n")
        return "\r\n" if first > 0 and self._text[first - 1] == "\r" else "\n"

    def _spans_of(self, old: str, *, replace_all: bool) -> list[tuple[int, int]]:
        if not old:
            raise BadDocument(old, "the text to replace is empty", "Quote the text to replace.")
        lines = old.replace("\r\n", "\n").split("\n")
        pattern = re.compile("\r?\n".join(re.escape(line) for line in lines))
        first = pattern.search(self._text, self._body_start)
        if first is None:
            raise BadDocument(
                old,
                "this text is not in the body",
                "Read the file again and quote it exactly."
                + ("" if self._encoding.exact else " The file is not UTF-8: quote ASCII only."),
            )
        if replace_all:
            return [match.span() for match in pattern.finditer(self._text, self._body_start)]
        # Searching from inside the first match also finds one that overlaps it.
        if pattern.search(self._text, first.start() + 1):
            count = sum(1 for _ in pattern.finditer(self._text, self._body_start))
            raise BadDocument(
                old,
                f"this text occurs {max(count, 2)} times in the body",
                "Quote more of what stands around it, or pass replace_all=True.",
            )
        return [first.span()]

    def _refuse_guessing(self, new: str, spans: list[tuple[int, int]]) -> None:
        """In a file of unknown encoding only whole ASCII characters may be touched.

        In GBK and its kind the second byte of a character may look like ASCII, so a match that
        follows an odd number of high bytes may start inside a character.
        """
        if self._encoding.exact:
            return
        if not new.isascii():
            raise _unknown_encoding(new)
        for start, end in spans:
            run = start
            while run > self._body_start and self._text[run - 1] > "\x7f":
                run -= 1
            width = len(self._text[run:start].encode("utf-8", "surrogateescape"))
            if width % 2 or not self._text[start:end].isascii():
                raise _unknown_encoding(self._text[start:end])

    def _with_replaced(self, spans: list[tuple[int, int]], new: str) -> Iterator[str]:
        """The text in pieces, `new` in each span, in the line ending next to it."""
        position, line_end, style = 0, -1, "\n"
        for start, end in spans:
            if line_end < start:
                following = self._text.find("\n", start)
                near = following if following >= 0 else self._text.rfind("\n", 0, start)
                line_end = following if following >= 0 else len(self._text)
                style = "\r\n" if near > 0 and self._text[near - 1] == "\r" else "\n"
            yield self._text[position:start]
            yield _with_newline(new, style) if "\n" in new else new
            position = end
        yield self._text[position:]


def _refuse_bad_key(key: str) -> None:
    if not isinstance(key, str) or not key.strip() or "\n" in key or "\r" in key:
        raise BadDocument(key, "this is not a front matter key", "Use a word such as `name`.")


def _with_newline(text: str, newline: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", newline)


def _unknown_encoding(given: str) -> BadDocument:
    return BadDocument(
        given,
        "the file is not UTF-8 and does not say what it is, so this text cannot be matched safely",
        "Convert the file to UTF-8 first, or edit ASCII text that stands apart.",
    )
