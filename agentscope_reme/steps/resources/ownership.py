"""Whose card it is: which card a resource became, and the front matter that says so."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from agentscope_reme.files.documents import MarkdownDocument
from agentscope_reme.files.wikilinks import parse_wikilinks
from agentscope_reme.schema import FileNode
from agentscope_reme.steps.cards import with_what_stood
from agentscope_reme.store.base import BaseFileStore
from agentscope_reme.tools.access import resources_of
from agentscope_reme.workspace import is_markdown

SOURCE_KEY: Final = "source_resource"
HASH_KEY: Final = "source_hash"
PROGRESS_KEY: Final = "source_progress"

_PROGRESS: Final = re.compile(r"([0-9a-f]{64}) (\d+)/(\d+)")


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far a card follows its resource.

    Attributes:
        sha: the hash of the version it follows; empty when there is none yet.
        reading: a newer version that is being read.
        read: how many characters of that one are in the card.
        total: how many it has.
    """

    sha: str = ""
    reading: str = ""
    read: int = 0
    total: int = 0


@dataclass(frozen=True, slots=True)
class Claim:
    """A card that says it was made from a resource, and how far it follows."""

    card: str
    cursor: Cursor

    @property
    def is_ours(self) -> bool:
        """Whether this library made the card, or brought it in step."""
        return bool(self.cursor.sha or self.cursor.reading)

    def follows(self, sha: str) -> bool:
        """Whether it is in step with a version of the resource."""
        return self.cursor.sha == sha and not self.cursor.reading


def cards_of(store: BaseFileStore, resource: str) -> list[str]:
    """The cards that say they were made from a resource, sorted; cards of sessions never are."""
    store.refresh()
    if not links_to(f"[[{resource}]]", resource):  # no link can name it: look at every card
        return [claim.card for claim in claims(store).get(resource, ())]
    linking = {link.source_path for link in store.inlinks(resource) if link.kind == "source"}
    nodes = (store.node(path) for path in sorted(linking) if _is_card(path))
    return [node.path for node in nodes if node is not None and resource in claimed_by(node)]


def claims(store: BaseFileStore) -> dict[str, list[Claim]]:
    """The cards of every resource, by resource, as the index knows them."""
    found: dict[str, list[Claim]] = {}
    for node in store.nodes("daily/"):
        for resource in claimed_by(node) if _is_card(node.path) else ():
            claim = Claim(node.path, cursor_in(node.front_matter.extra))
            found.setdefault(resource, []).append(claim)
    return found


def claimed_by(node: FileNode) -> list[str]:
    """The resources an indexed card says it was made from."""
    return resources_of(node.front_matter.extra)


def cursor_of(data: bytes) -> Cursor:
    """How far a card follows its resource, as it says itself."""
    return cursor_in(MarkdownDocument.parse(data).front_matter)


def cursor_in(front: Mapping[str, object]) -> Cursor:
    """The same from front matter that was read before."""
    sha = str(front.get(HASH_KEY) or "")
    partly = _PROGRESS.fullmatch(str(front.get(PROGRESS_KEY) or ""))
    if not partly:
        return Cursor(sha)
    return Cursor(sha, partly[1], int(partly[2]), int(partly[3]))


def with_resource(
    data: bytes,
    resource: str,
    cursor: Cursor,
    *,
    facts: Mapping[str, str],
    before: bytes | None,
) -> bytes:
    """The card as the code vouches for it, whatever the agent did to it.

    Args:
        data: what the agent made.
        resource: what it was made from.
        cursor: how far it follows the resource now.
        facts: further front matter, such as the media type.
        before: the card as it was; no link of it is lost.
    """
    document = MarkdownDocument.parse(data)
    linkable = links_to(f"[[{resource}]]", resource)
    if resource not in resources_of(document.front_matter):
        document.set(SOURCE_KEY, f"[[{resource}]]" if linkable else resource)
    partly = f"{cursor.reading} {cursor.read}/{cursor.total}" if cursor.reading else ""
    _set(document, HASH_KEY, cursor.sha)
    _set(document, PROGRESS_KEY, partly)
    for key, value in facts.items():
        _set(document, key, value)
    if facts.get("kind") == "image" and linkable and not links_to(document.body, resource):
        document.replace_body(f"![[{resource}]]\n\n{document.body.lstrip()}")
    return with_what_stood(document, before)


def links_to(text: str, resource: str) -> bool:
    """Whether a text links to a resource; names with brackets or ``#`` cannot be linked to."""
    return any(
        (link.target_path, link.target_anchor) == (resource, None) for link in parse_wikilinks(text)
    )


def _set(document: MarkdownDocument, key: str, value: str) -> None:
    present = document.front_matter.get(key)
    if value and present != value:
        document.set(key, value)
    elif not value and present is not None:
        document.remove(key)


def _is_card(path: str) -> bool:
    return path.startswith("daily/") and is_markdown(path)
