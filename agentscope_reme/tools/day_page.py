"""``daily/<date>.md``: a page whose marked block lists the cards of a day; the rest is yours."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from agentscope_reme.errors import Conflict, NotFound, StorageFailed
from agentscope_reme.files.changes import Expected
from agentscope_reme.files.documents import MarkdownDocument
from agentscope_reme.results import ChangeResult
from agentscope_reme.schema import content_hash
from agentscope_reme.tools.access import UNREADABLE, Access
from agentscope_reme.tools.answer_limit import one_line
from agentscope_reme.tools.change_results import change_result
from agentscope_reme.workspace import is_markdown

BLOCK_START: Final = "<!-- notes:auto -->"
BLOCK_END: Final = "<!-- /notes:auto -->"
_EMPTY: Final = "(none)"
_WIKILINK: Final = re.compile(r"!?\[\[([^\[\]|]+)(?:\|([^\[\]]*))?\]\]")
_LINK: Final = re.compile(r"!?\[([^\[\]]*)\]\(\s*<?([^()<>\s]+)>?[^()]*\)")
_LONGEST_WORDS: Final = 240
_ATTEMPTS: Final = 8


def card_paths(access: Access, day: str) -> list[str]:
    """The Markdown files directly in a day's folder, sorted."""
    folder = f"daily/{day}/"
    return [
        path
        for path in access.view.paths(folder.rstrip("/"))
        if is_markdown(path) and "/" not in path.removeprefix(folder)
    ]


def refresh_day_page(access: Access, day: str) -> ChangeResult:
    """Bring the block up to date; nothing is written when it already is, or there is no card.

    Args:
        access: how to reach the files; rights are the caller's business.
        day: ``YYYY-MM-DD``.

    Returns:
        ``replaced`` is 1 when the page was written.

    Raises:
        Conflict: others kept writing the page.
    """
    path = f"daily/{day}.md"
    for attempt in range(_ATTEMPTS):
        # page first, cards second: whoever adds a card later refreshes the page after us
        before = access.view.read(path) if access.view.exists(path) else None
        cards = card_paths(access, day)
        if before is not None and access.is_left_alone(path):
            break
        if before is None and not cards:
            return ChangeResult(path=path, answer=f"No cards on {day}; no page was made.")
        wanted = _page(before, day, _block(access, cards))
        if wanted == before:
            break
        expected: Expected = None if before is None else content_hash(before)
        try:
            change = access.view.write(path, wanted, expected=expected)
        except Conflict:
            if attempt == _ATTEMPTS - 1:
                raise
            continue
        said = f"{path} lists {_cards(len(cards))}."
        return change_result(path, change, said, replaced=1)
    assert before is not None  # noqa: S101 - a missing page with cards is always written
    if access.is_left_alone(path):
        said = f"{path} is pinned and stays as it is."
        return ChangeResult(path=path, answer=said, content_hash=content_hash(before))
    return ChangeResult(
        path=path,
        answer=f"{path} already lists {_cards(len(cards))}.",
        content_hash=content_hash(before),
    )


def _page(before: bytes | None, day: str, block: str) -> bytes:
    if before is None:
        document = MarkdownDocument.parse(f"{block}\n")
        document.set("name", day)
        document.set("description", f"Cards of {day}")
        return document.dump()
    document = MarkdownDocument.parse(before)
    body = document.body.replace("\r\n", "\n")
    wanted = _with_block(body, block)
    if wanted != body:
        document.replace_body(wanted)
    return document.dump()


def _with_block(body: str, block: str) -> str:
    """The body with its first complete block replaced; appended when there is none."""
    end = body.find(BLOCK_END)
    start = body.rfind(BLOCK_START, 0, max(end, 0))
    if start >= 0:
        return body[:start] + block + body[end + len(BLOCK_END) :]
    gap = "" if not body or body.endswith("\n\n") else "\n" if body.endswith("\n") else "\n\n"
    return f"{body}{gap}{block}\n"


def _block(access: Access, cards: Sequence[str]) -> str:
    lines = []
    for path in cards:
        with suppress(NotFound):  # deleted since the folder was listed
            lines.append(_line(access, path))
    return "\n".join((BLOCK_START, *(lines or [_EMPTY]), BLOCK_END))


def _line(access: Access, path: str) -> str:
    try:
        front = MarkdownDocument.parse(access.view.read(path)).front_matter
    except StorageFailed:
        return f"- [[{path}]] {UNREADABLE}"
    words = [one_line(front.get(key) or "", _LONGEST_WORDS) for key in ("name", "description")]
    said = " — ".join(filter(None, words))
    return f"- [[{path}]] {_plain(said)}".rstrip()


def _plain(text: str) -> str:
    """Words of a card that cannot end the block, open a comment or become an edge of the page.

    Of a link its text stays, or its path.
    """
    text = _WIKILINK.sub(lambda link: link[2] or link[1], text)
    text = _LINK.sub(lambda link: link[1] or link[2], text)
    return text.replace("<!--", "<! --").replace("-->", "-- >").replace("[[", "[ [")


def _cards(count: int) -> str:
    return "1 card" if count == 1 else f"{count} cards"
