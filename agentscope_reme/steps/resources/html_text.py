"""A web page as the text a reader sees: headings, lists, table rows and where links lead."""

from __future__ import annotations

import codecs
import re
from html import unescape
from html.parser import HTMLParser
from typing import Final

_INLINE: Final = frozenset(
    {"a", "abbr", "b", "bdi", "bdo", "cite", "code", "data", "del", "dfn", "em", "font", "i", "img"}
    | {"ins", "kbd", "label", "mark", "q", "s", "samp", "small", "span", "strong", "sub", "sup"}
    | {"td", "th", "time", "tt", "u", "var", "wbr"}
)
"""Elements that begin no new line."""
_BEFORE: Final = {f"h{n}": "#" * n + " " for n in range(1, 7)} | {"title": "# ", "li": "- "}
_CHARSET: Final = re.compile(
    rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?([\w.:-]{1,40})", re.IGNORECASE
)
_LOOKED_AT_BYTES: Final = 4096
_TAG: Final = re.compile(r"<[^<>]*>")
_MOST_MENDED: Final = 20
"""So many times what follows unfinished markup is read as a page; every time costs its length."""


def html_text(markup: str) -> str:
    """The text of a page; markup that is broken gives what can be read of it.

    Scripts and styles are left out. Text that a browser would hide stays: a model is told that
    all of it is quoted material.
    """
    page = _Page()
    page.feed(markup)
    page.close()
    lines = (line.rstrip() for line in "".join(page.said).split("\n"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def declared_encoding(data: bytes) -> str | None:
    """The encoding a page names in its head, when there is such a one."""
    found = _CHARSET.search(data[:_LOOKED_AT_BYTES])
    if not found:
        return None
    try:
        return codecs.lookup(found[1].decode("ascii")).name
    except LookupError:
        return None


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.said: list[str] = []
        self._links: list[str] = []
        self._preformatted = 0

    def close(self) -> None:
        """Read what is left, which begins with markup that has no end.

        The parser's own way looks for that end once more at every later tag.
        """
        for _ in range(_MOST_MENDED):
            if not self.rawdata.startswith("<"):
                break
            rest, self.rawdata = self.rawdata, ""
            self.handle_data("<")
            self.feed(rest[1:])
        rest, self.rawdata = self.rawdata, ""
        self.handle_data(unescape(_TAG.sub(" ", rest)))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag not in _INLINE:
            self.said.append("\n" + _BEFORE.get(tag, ""))
            self._preformatted += tag == "pre"
        elif tag in ("td", "th"):
            self.said.append(" | ")
        elif tag == "img" and given.get("alt"):
            self.said.append(f"[picture: {given['alt']}]")
        elif tag == "a":
            self._links.append(given.get("href") or "")

    def handle_endtag(self, tag: str) -> None:
        if tag not in _INLINE:
            self.said.append("\n")
            self._preformatted = max(0, self._preformatted - (tag == "pre"))
        elif tag == "a" and self._links:
            target = self._links.pop()
            if target.startswith(("http://", "https://", "mailto:")):
                self.said.append(f" ({target})")

    def handle_data(self, data: str) -> None:
        if self.cdata_elem in ("script", "style"):
            return
        if not self._preformatted:
            data = re.sub(r"\s+", " ", data)
            begins_line = not self.said or self.said[-1].endswith("\n")
            data = data.lstrip() if begins_line else data
        self.said.append(data)
