"""What the page shows: every text of a memory, its links, and its pictures as far as they fit."""

from __future__ import annotations

import base64
import mimetypes
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Final

from agentscope_reme.errors import BadPath, NotFound, StorageFailed
from agentscope_reme.files.documents import MarkdownDocument
from agentscope_reme.files.session_lines import Row, parse_line
from agentscope_reme.files.session_names import DIALOG_FOLDER
from agentscope_reme.files.text_encoding import indexable_text, is_binary
from agentscope_reme.files.wikilinks import parse_wikilinks
from agentscope_reme.messages import TextBlock
from agentscope_reme.progress import followed
from agentscope_reme.steps.context import Components
from agentscope_reme.workspace import is_markdown

_LONGEST_TEXT_BYTES: Final = 256 * 1024
_IMAGES_BYTES: Final = 8 * 1024**2
"""All pictures of a page together; what does not fit is named, not shown."""
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_LOG: Final = f"{DIALOG_FOLDER}/"
_ARCHIVES: Final = ("session/agentscope/", "session/claude_code/")
"""What left a context window, in full: their words stand in the logs."""

_UNREADABLE: Final = (NotFound, BadPath, StorageFailed)
"""What reading a file raises that went away since it was listed."""

Page = dict[str, Any]
"""JSON: ``files``, ``images``, ``left_out``, ``title``, ``language`` and ``made``."""


def gather(parts: Components, made: str) -> Page:
    """Read a memory.

    Args:
        parts: the opened memory.
        made: now, ISO 8601.

    Raises:
        StorageFailed: the workspace is gone.
    """
    paths = parts.vault.paths()
    files: list[dict[str, Any]] = []
    left_out: list[str] = []
    texts = [path for path in paths if not path.startswith(_ARCHIVES) and not _kind(path)]
    for path in followed(texts, "files"):
        try:
            found = _file(path, parts.vault.read(path))
        except _UNREADABLE:
            found = None
        if found is None:
            left_out.append(path)
        else:
            found["date"] = found["date"] or _changed(parts, path)
            files.append(found)
    pictures = [path for path in paths if _kind(path)]
    images, too_many = _images(parts, pictures)
    name = parts.workspace.user or parts.workspace.root.name
    return {
        "title": name,
        "language": parts.language,
        "made": made,
        "files": files,
        "images": images,
        "left_out": [*left_out, *too_many],
    }


def _file(path: str, data: bytes) -> dict[str, Any] | None:
    if path.startswith(_LOG):
        return _log(path, data)
    if is_binary(data):
        return None
    text = indexable_text(data)
    shown: dict[str, Any] = {"path": path, "date": _date(path), "text": text}
    if len(data) > _LONGEST_TEXT_BYTES:  # cut as text: half a character spoils the whole file
        text = text.encode()[:_LONGEST_TEXT_BYTES].decode("utf-8", "ignore")
        shown.update(text=text, cut=len(data))
    if is_markdown(path):
        shown.update(_of_markdown(path, text))
    return shown


def _of_markdown(path: str, text: str) -> dict[str, Any]:
    document = MarkdownDocument.parse(text)
    values = document.front_matter
    told = {key: str(values[key]) for key in ("name", "description") if values.get(key)}
    tags = values.get("tags")
    return {
        **told,
        "tags": [str(tag) for tag in tags] if isinstance(tags, list) else [],
        "body": document.body_start_line,
        "links": sorted({link.target_path for link in parse_wikilinks(text, path)}),
    }


def _log(path: str, data: bytes) -> dict[str, Any]:
    turns = list(_turns(data))
    dates = [turn["time"][:10] for turn in turns if turn["time"]]
    return {"path": path, "date": max(dates, default=""), "turns": turns}


def _turns(data: bytes) -> Iterator[dict[str, Any]]:
    """The turns of a log as they are shown: of one that was corrected, the newest."""
    shown: dict[str, dict[str, Any]] = {}
    for number, raw in enumerate(data.split(b"\n"), 1):
        try:
            line = parse_line(number, raw) if raw else None
        except ValueError:
            continue
        if isinstance(line, Row):
            shown[line.id] = _turn(line)
    yield from sorted(shown.values(), key=lambda turn: turn["line"])


def _turn(row: Row) -> dict[str, Any]:
    blocks = row.fields.get("blocks")
    listed = blocks if isinstance(blocks, list) else []
    known = [block for block in listed if isinstance(block, dict)]
    texts = [str(block.get("text") or "") for block in known if block.get("type") == _TEXT]
    calls = [str(block.get("name") or "") for block in known if block.get("type") == "tool_call"]
    pictures = [str(block["path"]) for block in known if block.get("path")]
    return {
        "line": row.line,
        "role": str(row.fields.get("role") or ""),
        "name": str(row.fields.get("name") or ""),
        "time": str(row.fields.get("created_at") or ""),
        "text": "\n".join(texts),
        "calls": calls,
        "images": pictures,
    }


_TEXT: Final = TextBlock.model_fields["type"].default


def _images(parts: Components, paths: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Pictures as ``data:`` addresses, the newest first; and those that did not fit."""
    images: dict[str, str] = {}
    left_out: list[str] = []
    room = _IMAGES_BYTES
    for path in sorted(paths, key=_date, reverse=True):
        seen = parts.vault.seen(path)
        if seen is None or seen.size > room:
            left_out.append(path)
            continue
        try:
            encoded = base64.b64encode(parts.vault.read(path)).decode("ascii")
        except _UNREADABLE:
            left_out.append(path)
            continue
        room -= seen.size
        images[path] = f"data:{_kind(path)};base64,{encoded}"
    return images, left_out


def _kind(path: str) -> str:
    """The media type of a picture a browser draws without running anything in it; else empty."""
    kind = mimetypes.guess_type(path)[0] or ""
    return kind if kind in ("image/png", "image/jpeg", "image/gif", "image/webp") else ""


def _changed(parts: Components, path: str) -> str:
    """The day a file was changed on; empty when it is gone."""
    seen = parts.vault.seen(path)
    if seen is None:
        return ""
    return f"{datetime.fromtimestamp(seen.mtime_ns / 1e9, parts.clock.zone):%Y-%m-%d}"


def _date(path: str) -> str:
    found = _DATE.search(path)
    return found[0] if found else ""
