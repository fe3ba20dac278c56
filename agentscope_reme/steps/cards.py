"""Daily cards: which card belongs to a session, what it is called, where it came from."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Any, Final

from agentscope_reme.files.documents import MarkdownDocument
from agentscope_reme.files.pins import says_pinned
from agentscope_reme.files.wikilinks import parse_wikilinks
from agentscope_reme.schema import FileNode
from agentscope_reme.store.base import BaseFileStore
from agentscope_reme.store.filters import TAGS_PER_FILE, normalise_tags
from agentscope_reme.tools.answer_limit import one_line
from agentscope_reme.tools.redaction import MARK
from agentscope_reme.workspace import is_markdown

TAG_KEY: Final = "memory_tags"
LARGEST_GROWTH: Final = 64 * 1024
"""Bytes one run may add to a card: many times a good one, far from what fills a disk."""
_LONGEST_SLUG_BYTES: Final = 80
_LONGEST_LINE: Final = 240
_UNSEEN: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters, and those that change the direction of what follows."""
_FALLBACK_SLUG: Final = "conversation"
_KEPT_KEYS: Final = ("source_images", "source_resource", "memory_tags", "name", "description")
"""Front matter a model may change but not drop."""


def find_card(
    store: BaseFileStore, *, day: str, session_id: str, session_path: str
) -> FileNode | None:
    """The one card of a session on a day: by ``session_id``, else by ``source_conversation``.

    A card its person pinned is not touched any more: what is new gets a card beside it.
    """
    cards = [
        node
        for node in store.nodes(f"daily/{day}/")
        if is_markdown(node.path) and not says_pinned(node.front_matter.extra)
    ]
    for node in cards:
        if str(node.front_matter.extra.get("session_id", "")) == session_id:
            return node
    for node in cards:
        if any(link.kind == "source" and link.target_path == session_path for link in node.links):
            return node
    return None


def slug(name: str) -> str:
    """A file stem from a topic: letters and digits of any script, hyphens between words."""
    normal = unicodedata.normalize("NFC", name).strip().casefold()
    words = re.sub(r"[^\w]+", "-", normal).replace("_", "-").strip("-")
    words = re.sub(r"-{2,}", "-", words)
    cut = words.encode()[:_LONGEST_SLUG_BYTES].decode("utf-8", "ignore").strip("-")
    return cut or _FALLBACK_SLUG


def free_path(taken: Iterable[str], day: str, stem: str, *, own: str | None = None) -> str:
    """``daily/<day>/<stem>.md``, or the first numbered variant no other card has.

    Args:
        taken: paths that exist.
        day: the folder, ``YYYY-MM-DD``.
        stem: the wanted file stem.
        own: the card's present path, which it may keep.
    """
    others = {path.casefold() for path in taken if path != own}
    number = 1
    while True:
        suffix = "" if number == 1 else f"-{number}"
        path = f"daily/{day}/{stem}{suffix}.md"
        if path.casefold() not in others:
            return path
        number += 1


def with_provenance(
    data: bytes, *, session_id: str, session_path: str, before: bytes | None
) -> bytes:
    """The card as the code vouches for it, whatever the agent did to it.

    ``session_id`` and ``source_conversation`` are set, a missing ``name`` is not invented, and
    every link the card had before, in its front matter too, is still there: lost ones are listed
    under Sources.
    """
    document = MarkdownDocument.parse(data)
    if document.front_matter.get("session_id") != session_id:
        document.set("session_id", session_id)
    if not _links_to(document, session_path):
        document.set("source_conversation", f"[[{session_path}]]")
    return with_what_stood(document, before)


def with_what_stood(document: MarkdownDocument, before: bytes | None) -> bytes:
    """The card with its tags in order and with nothing lost that a model may not drop.

    Args:
        document: what became of the card.
        before: the card as it was: its links stay, and the front matter keys every card keeps.
    """
    _in_plain_words(document, before)
    _with_tags_in_order(document)
    if before is None:
        return document.dump()
    earlier = MarkdownDocument.parse(before)
    for key in _KEPT_KEYS:
        if key in earlier.front_matter and key not in document.front_matter:
            document.set(key, earlier.front_matter[key])
    if lost := _lost_links(before, document.dump()):
        _add_sources(document, lost)
    return document.dump()


def _in_plain_words(document: MarkdownDocument, before: bytes | None) -> None:
    """Without signs nobody sees, name and description one line each; what stood there stays.

    Such signs turn text around on the screen, or make a file binary for other programs.
    """
    earlier = MarkdownDocument.parse(before or b"")
    for key in ("name", "description"):
        value = document.front_matter.get(key)
        if isinstance(value, str) and value != earlier.front_matter.get(key):
            plain = one_line(_UNSEEN.sub("", value), _LONGEST_LINE)
            if plain != value:
                document.set(key, plain)
    if _UNSEEN.search(document.body) and not _UNSEEN.search(earlier.body):
        document.replace_body(_UNSEEN.sub("", document.body))


def with_source_images(data: bytes, sources: Iterable[str], before: bytes | None) -> bytes:
    """The card with images in its ``source_images``, behind those that are listed there already.

    Args:
        data: the card.
        sources: workspace paths, listed as links, and web addresses.
        before: the card as it was; what it listed stays listed.
    """
    document = MarkdownDocument.parse(data)
    present = _source_images(document)
    earlier = [] if before is None else _source_images(MarkdownDocument.parse(before))
    wanted = [source if "://" in source else f"[[{source}]]" for source in sources]
    known = set(map(_spelled, present))
    lost = [entry for entry in earlier if _spelled(entry) not in known]
    known.update(map(_spelled, lost))
    missing = [source for source in wanted if source not in known]
    if lost or missing:
        document.set("source_images", [*lost, *present, *missing])
    return document.dump()


def _source_images(document: MarkdownDocument) -> list[Any]:
    listed = document.front_matter.get("source_images")
    if isinstance(listed, list):
        return listed
    return [] if listed in (None, "") else [listed]


def _spelled(entry: object) -> str:
    """An entry as text; an unquoted ``[[path]]`` is read as nested lists by YAML."""
    while isinstance(entry, list) and len(entry) == 1:
        entry = entry[0]
        if isinstance(entry, str):
            return f"[[{entry}]]"
    return str(entry)


def _add_sources(document: MarkdownDocument, lost: list[str]) -> None:
    """List lost links under Sources: at the end, or first when the end is inside a code fence."""
    body = document.body
    newline = "\r\n" if "\r\n" in body else "\n"
    rows = newline.join(f"- [[{link}]]" for link in lost)
    section = f"## Sources{newline}{newline}{rows}{newline}"
    document.replace_body(body.rstrip("\r\n") + newline * 2 + section)
    kept = _targets(document.dump())
    if any(link not in kept for link in lost):
        document.replace_body(section + newline + body)


def card_tags(data: bytes) -> tuple[str, ...]:
    """The tags a card carries, as the index spells them."""
    tags = MarkdownDocument.parse(data).front_matter.get(TAG_KEY)
    given = tags if isinstance(tags, list) else [tags]
    return normalise_tags(tag for tag in given if MARK not in str(tag))[:TAGS_PER_FILE]


def tags_missing(data: bytes) -> str | None:
    """Why a card carries no tags although it was to get some; ``None`` when it has one."""
    return None if card_tags(data) else "the model gave no tag that can be used"


def _with_tags_in_order(document: MarkdownDocument) -> None:
    """At most three tags, spelled as the index spells them; no key when none is left."""
    if TAG_KEY not in document.front_matter:
        return
    tags = card_tags(document.dump())
    if not tags:
        document.remove(TAG_KEY)
    elif document.front_matter[TAG_KEY] != list(tags):
        document.set(TAG_KEY, list(tags))


def card_stem(path: str) -> str:
    """The file stem of a card's path."""
    return PurePosixPath(path).stem


def _links_to(document: MarkdownDocument, session_path: str) -> bool:
    return any(
        link.kind == "source" and link.target_path == session_path
        for link in parse_wikilinks(document.text)
    )


def _lost_links(before: bytes, after: bytes) -> list[str]:
    kept = _targets(after)
    return [link for link in _targets(before) if link not in kept]


def _targets(data: bytes) -> dict[str, None]:
    links = parse_wikilinks(MarkdownDocument.parse(data).text)
    return {
        link.target_path + (f"#{link.target_anchor}" if link.target_anchor else ""): None
        for link in links
    }
