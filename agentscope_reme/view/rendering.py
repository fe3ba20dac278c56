"""One self-contained HTML file: it runs nothing but its own script, and reaches nowhere.

What the memory says is data: packed, unpacked by the script and put on the page as text. The
content security policy names the script and the style by their hashes and allows no connection.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
from importlib.resources import files
from typing import Final

from agentscope_reme.view.gathering import Page

_ROOM: Final = files("agentscope_reme.view")


def render(page: Page) -> bytes:
    """The page, as UTF-8.

    Args:
        page: what it shows.
    """
    style, script = _text("page.css"), _text("page.js") + _text("graph.js")
    # Logs may hold halves of characters, and names bytes that are no text: shown as `?`.
    said = json.dumps(page, ensure_ascii=False).encode("utf-8", "replace")
    packed = gzip.compress(said, mtime=0)
    values = {
        "language": html.escape(page["language"]),
        "title": html.escape(page["title"]),
        "policy": _policy(style, script),
        "style": style,
        "script": script,
        "memory": base64.b64encode(packed).decode("ascii"),
    }
    return _filled(_text("page.html"), values).encode("utf-8", "replace")


def _filled(template: str, values: dict[str, str]) -> str:
    """The template with each ``<!--name-->`` replaced once; what is put in is not looked at."""
    pieces: list[str] = []
    for piece in template.split("<!--"):
        name, end, rest = piece.partition("-->")
        pieces += [values[name], rest] if end else [piece]
    return "".join(pieces)


def _policy(style: str, script: str) -> str:
    return (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
    return f"'sha256-{digest}'"


def _text(name: str) -> str:
    return _ROOM.joinpath(name).read_text("utf-8")
