"""What a model may pass to each tool, and the obvious slips that are understood anyway.

Models write ``"5"`` for 5, ``""`` or ``"null"`` for nothing, one tag where a list is wanted and
JSON text where an object is wanted. Those forms are read; anything else is refused in words.
"""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

_NOTHING = frozenset({"", "null", "none", "undefined"})


def _nothing(value: object) -> object:
    if isinstance(value, str) and value.strip().casefold() in _NOTHING:
        return None
    return value


def _parsed(value: object) -> object:
    """JSON text of an object or a list as the value it spells."""
    if isinstance(value, str) and value.strip()[:1] in ("{", "["):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _words(value: object) -> object:
    value = _parsed(_nothing(value))
    if isinstance(value, str):
        return [word.strip() for word in value.split(",") if word.strip()]
    return value


def _mapping(value: object) -> object:
    return _parsed(_nothing(value))


def _limit(value: object) -> object:
    """A number above the most that is allowed means the most."""
    text = str(value).strip()
    return min(int(text), _MOST_HITS) if text.isdecimal() else value


_MOST_HITS = 50

Line = Annotated[int | None, BeforeValidator(_nothing)]
Words = Annotated[list[str] | None, BeforeValidator(_words)]
Text = Annotated[str | None, BeforeValidator(_nothing)]
Metadata = Annotated[dict[str, Any] | None, BeforeValidator(_mapping)]

_PATH = "Path relative to the workspace, such as 'daily/2026-06-20/login.md'."
_DATE = "Day as YYYY-MM-DD; today when left out."


class ToolArguments(BaseModel):
    """The root of all tool arguments; unknown ones are ignored."""

    model_config = ConfigDict(extra="ignore", coerce_numbers_to_str=True)


class ReadArguments(ToolArguments):
    """Arguments of ``read``."""

    path: str = Field(description=_PATH)
    start_line: Line = Field(None, description="First line to read, counted from 1.")
    end_line: Line = Field(None, description="Last line to read, inclusive.")
    neighbors: bool = Field(False, description="Also list links to and from the file.")


class PathArguments(ToolArguments):
    """Arguments of the tools that take one path."""

    path: str = Field(description=_PATH)


class WriteArguments(ToolArguments):
    """Arguments of ``write``."""

    path: str = Field(description=_PATH)
    content: str = Field(description="The whole new text, without front matter.")
    name: Text = Field(None, description="Short name, kept in the front matter.")
    description: Text = Field(None, description="One sentence about the file, for search.")
    metadata: Metadata = Field(None, description="Further front matter keys.")
    expected_hash: Text = Field(
        None, description="Refuse unless the file still has this sha256 (see `stat`)."
    )


class EditArguments(ToolArguments):
    """Arguments of ``edit``."""

    path: str = Field(description=_PATH)
    old: str = Field(description="The exact text to replace; it must occur once.")
    new: str = Field(description="The text to put there; empty to remove it.")
    replace_all: bool = Field(False, description="Replace every occurrence.")


class MoveArguments(ToolArguments):
    """Arguments of ``move``."""

    src: str = Field(description="The file or folder to move.")
    dst: str = Field(description="Its new path.")
    overwrite: bool = Field(False, description="Replace a file that stands there.")
    retarget: bool = Field(True, description="Let links in other files follow.")


class ListArguments(ToolArguments):
    """Arguments of ``list``."""

    path: str = Field("", description="Folder; the whole workspace when empty.")
    recursive: bool = Field(False, description="Also files in the folders inside.")
    limit: int = Field(100, ge=1, description="The most entries.")


class FrontMatterUpdateArguments(ToolArguments):
    """Arguments of ``frontmatter_update``."""

    path: str = Field(description=_PATH)
    metadata: Annotated[dict[str, Any], BeforeValidator(_mapping)] = Field(
        description="Keys to set and their values."
    )


class FrontMatterDeleteArguments(ToolArguments):
    """Arguments of ``frontmatter_delete``."""

    path: str = Field(description=_PATH)
    keys: Annotated[list[str], BeforeValidator(_words)] = Field(description="Keys to remove.")


class DayArguments(ToolArguments):
    """Arguments of ``daily_list``."""

    date: Text = Field(None, description=_DATE)


class DailyWriteArguments(ToolArguments):
    """Arguments of ``daily_write``."""

    name: str = Field(description="Short topic without a date, such as 'login-refactor-decision'.")
    description: str = Field(description="One sentence that says what the card holds.")
    content: str = Field(description="The card in Markdown, without front matter.")
    session_id: Text = Field(None, description="The conversation the card comes from.")
    date: Text = Field(None, description=_DATE)
    metadata: Metadata = Field(None, description="Further front matter keys, such as tags.")


class SearchArguments(ToolArguments):
    """Arguments of ``memory_search``."""

    query: str = Field(description="What to look for, in plain words or exact terms.")
    limit: Annotated[int, BeforeValidator(_limit)] = Field(
        5, ge=1, description=f"The most passages, up to {_MOST_HITS}."
    )
    start_date: Text = Field(None, description="Nothing dated before this day (YYYY-MM-DD).")
    end_date: Text = Field(None, description="Nothing dated after this day (YYYY-MM-DD).")
    path_prefix: Text = Field(None, description="Only below this path, such as 'digest/'.")
    tags: Words = Field(None, description="Only files with at least one of these tags.")
