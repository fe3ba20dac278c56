"""Pinned files: what a person marked with ``pinned: true``, only that person changes.

The mark is front matter of the file itself, so that it moves, is copied and is backed up with it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from agentscope_reme.errors import BadPath
from agentscope_reme.files.documents import MarkdownDocument
from agentscope_reme.workspace import is_markdown

PERSON: Final = "user"
"""The actor under whose name the journal lists what the person did themselves."""

PIN_KEY: Final = "pinned"
"""The front matter key, in any case."""

_NO: Final = frozenset({"", "false", "no", "off", "0", "null", "none", "~"})
_LINE: Final = re.compile(
    rf"^[ \t]*[\"']?{PIN_KEY}[\"']?[ \t]*:(.*)$", re.MULTILINE | re.IGNORECASE
)


def is_pinned(data: bytes | str) -> bool:
    """Whether a file says of itself that automation must leave it alone.

    Whoever wrote ``pinned: yes`` or ``pinned: "true"`` meant it as well. In front matter that
    cannot be read the line counts as it stands: a slip elsewhere in the block unpins nothing.

    Args:
        data: the whole file; one without front matter is not pinned.
    """
    document = MarkdownDocument.parse(data)
    block = document.block
    if block is None:
        return False
    if block.error:
        written = document.text[block.start : block.end]
        return any(_says_yes(line[1].split(" #")[0]) for line in _LINE.finditer(written))
    return says_pinned(block.values)


def says_pinned(front_matter: Mapping[str, Any]) -> bool:
    """Whether front matter that was already read holds the mark."""
    return any(_says_yes(v) for key, v in front_matter.items() if key.casefold() == PIN_KEY)


def is_person(actor: str) -> bool:
    """Whether a change under this name is the person's own, and not automation's."""
    return actor == PERSON


def refuse_pinned(actor: str, path: str, before: bytes | None, after: bytes | None) -> None:
    """Keep automation from changing a pinned file and from setting or removing the mark.

    Args:
        actor: who changes the file, as the journal shows it.
        path: the file; only Markdown has front matter.
        before: what stands there; ``None`` when nothing does.
        after: what shall stand there; ``None`` when it is to go.

    Raises:
        BadPath: the actor is not the person, and the file is pinned or would be.
    """
    if is_person(actor) or before == after or not is_markdown(path):
        return
    if before is not None and is_pinned(before):
        raise BadPath(
            path,
            "this file is pinned: only the person whose memory it is changes it",
            "Leave it as it is; put what is new into another file.",
        )
    if after is not None and is_pinned(after):
        raise BadPath(
            path,
            "only the person whose memory it is pins a file",
            f"Leave `{PIN_KEY}` out of the front matter.",
        )


def _says_yes(value: Any) -> bool:
    if isinstance(value, str):
        return value.strip().strip("\"'").casefold() not in _NO
    return bool(value)
