"""Front matter: where a document's YAML block stands; `read_values` says what it says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from agentscope_reme.files.text_encoding import BOM

_FENCE: Final = re.compile(r"---[ \t]*\r?\n")
_CLOSING: Final = re.compile(r"^---[ \t]*\r?(?:\n|\Z)", re.MULTILINE)
_BLANK_FIRST_LINE: Final = re.compile(r"[ \t]*\r?\n")


@dataclass(frozen=True, slots=True)
class FrontMatterBlock:
    """Where a front matter block stands, as character offsets into the whole text.

    ``text[start:end]`` is the YAML between the fences, ``body_start`` the first character after
    the closing fence line. ``values`` is empty when ``error`` says why they could not be read.
    """

    start: int
    end: int
    body_start: int
    values: dict[str, Any]
    error: str | None = None


def find_front_matter(text: str) -> FrontMatterBlock | None:
    """The block that opens a document, or ``None`` when there is none.

    A block runs from ``---`` on the very first line to the next ``---`` line. A document that
    merely opens with a thematic break is told apart by the blank line below it: such a block is
    front matter only when it is a YAML mapping (or empty).
    """
    opening = _FENCE.match(text, 1 if text.startswith(BOM) else 0)
    if opening is None:
        return None
    closing = _CLOSING.search(text, opening.end())
    if closing is None:
        return None
    from agentscope_reme.files.yaml_values import read_values  # a start without one is quicker

    source = text[opening.end() : closing.start()]
    values, error = read_values(source)
    opens_blank = _BLANK_FIRST_LINE.match(source) is not None
    if opens_blank and not values and source.strip():
        return None
    return FrontMatterBlock(opening.end(), closing.start(), closing.end(), values, error)
