"""Where a resource stands and what kind of file it is, told from its path alone."""

from __future__ import annotations

import datetime
import re
from pathlib import PurePosixPath
from typing import Final, Literal

from agentscope_reme.errors import BadPath
from agentscope_reme.workspace import MARKDOWN_SUFFIXES

FOLDER: Final = "resource"

Kind = Literal["text", "html", "image", "document"]

_KINDS: Final[dict[str, Kind]] = {
    **dict.fromkeys((*sorted(MARKDOWN_SUFFIXES), ".txt", ".log", ".rst"), "text"),
    **dict.fromkeys((".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".yaml", ".yml"), "text"),
    **dict.fromkeys((".html", ".htm", ".xhtml"), "html"),
    **dict.fromkeys((".png", ".jpg", ".jpeg", ".webp", ".gif"), "image"),
    **dict.fromkeys((".bmp", ".tif", ".tiff", ".heic", ".heif"), "image"),
    **dict.fromkeys((".pdf", ".docx", ".pptx", ".xlsx"), "document"),
}
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_PLACE: Final = "Put it into `resource/YYYY-MM-DD/`."


def kind_of(path: str) -> Kind | None:
    """What kind of file a name promises; ``None`` for one nobody here can read."""
    return _KINDS.get(suffix_of(path))


def suffix_of(path: str) -> str:
    """The ending of a file name, lower-case, with its dot."""
    return PurePosixPath(path).suffix.casefold()


def day_of(path: str) -> str | None:
    """The day a resource was filed under; ``None`` for one directly in ``resource/``.

    Args:
        path: a normalised workspace path.

    Raises:
        BadPath: it is no resource, or stands below a folder that is no day.
    """
    parts = path.split("/")
    if parts[0] != FOLDER or len(parts) < 2:
        raise BadPath(path, "this is not a file below `resource/`", _PLACE)
    if len(parts) == 2:
        return None
    if not is_day(parts[1]):
        raise BadPath(path, f"the folder {parts[1]!r} is not a day", _PLACE)
    return parts[1]


def is_day(name: str) -> bool:
    """Whether a folder is one of a day, ``YYYY-MM-DD``."""
    try:
        return bool(_DAY.fullmatch(name) and datetime.date.fromisoformat(name))
    except ValueError:
        return False
