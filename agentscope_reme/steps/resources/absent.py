"""Resources that are not where their card says: moved, or deleted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from typing import Final

from agentscope_reme.errors import NotFound, ReMeError
from agentscope_reme.files.change_set import ChangeSet
from agentscope_reme.files.changes import Change, Write
from agentscope_reme.files.documents import MarkdownDocument
from agentscope_reme.files.pins import is_pinned
from agentscope_reme.files.text_encoding import decode_guessing
from agentscope_reme.files.wikilinks import parse_wikilinks, retarget_wikilinks
from agentscope_reme.results import ResourceCard
from agentscope_reme.schema import content_hash
from agentscope_reme.steps.context import Components
from agentscope_reme.steps.resources.ledger import Ledger, Reading
from agentscope_reme.steps.resources.ownership import (
    SOURCE_KEY,
    Claim,
    claims,
    cursor_of,
    links_to,
)
from agentscope_reme.steps.resources.places import FOLDER
from agentscope_reme.steps.resources.writer import ACTOR, refresh_day
from agentscope_reme.tools.access import resources_of
from agentscope_reme.vault.live_view import LiveView
from agentscope_reme.vault.tree import SeenFile
from agentscope_reme.workspace import is_markdown

_GUARDED_FROM: Final = 5  # fewer missing resources than this are taken at their word


class Absences:
    """Finds out where missing resources went, and lets their cards follow. Plain functions.

    Args:
        parts: the parts of the workspace.
        ledger: sizes of resources that are gone.
    """

    def __init__(self, parts: Components, ledger: Ledger) -> None:
        self._parts = parts
        self._ledger = ledger
        self._hashes: dict[str, str] = {}

    @cached_property
    def _files(self) -> Sequence[SeenFile]:
        return self._parts.vault.survey(FOLDER)[0]

    def successor(self, resource: str, card: str) -> str | None:
        """A file with the very content a missing resource had, and no card of its own."""
        wanted = cursor_of(self._parts.vault.read(card)).sha
        if not wanted:
            return None
        known = self._ledger.get(resource)
        size = known.size if known is not None else -1
        owned = claims(self._parts.store)
        name = PurePosixPath(resource).name
        free = (f for f in self._files if f.path not in owned and size in (-1, f.size))
        ordered = sorted(free, key=lambda f: (PurePosixPath(f.path).name != name, f.path))
        return next((f.path for f in ordered if self._hash(f.path) == wanted), None)

    def follow(self, resource: str, card: str, moved_to: str) -> ResourceCard:
        """Point the card, and every link to the resource, at its new place.

        Raises:
            Conflict: somebody changed one of the files meanwhile; nothing was changed.
        """
        vault, store = self._parts.vault, self._parts.store
        store.refresh()
        linking = {link.source_path for link in store.inlinks(resource)} - {card}
        changes: list[Change] = [self._repointed(card, resource, moved_to)]
        for path in sorted(linking):
            changes += self._retargeted(path, resource, moved_to)
        vault.commit(changes, actor=ACTOR, operation="move")
        known = self._ledger.get(resource)
        self._ledger.forget([resource])
        if known is not None and known.settled:
            self._ledger.note(Reading(moved_to, known.sha, settled=True, card=card))
        return ResourceCard(resource=moved_to, path=card, action="moved", previous=resource)

    def remove(self, resource: str, card: str) -> ResourceCard:
        """Put the card of a deleted resource into the trash.

        Raises:
            Conflict: somebody changed the card meanwhile; nothing was changed.
        """
        staged = ChangeSet(LiveView(self._parts.vault, actor=ACTOR))
        inbound = staged.delete(card).inbound
        refresh_day(self._parts, staged, card)
        self._parts.vault.commit(staged.changes(), actor=ACTOR, operation=ACTOR)
        self._ledger.forget([resource])
        rewritten = {change.path for change in staged.changes()}
        left = [link for link in inbound if link.source_path not in rewritten]
        return ResourceCard(resource=resource, path=card, action="removed", inbound=left)

    def _repointed(self, card: str, old: str, new: str) -> Write:
        data = self._parts.vault.read(card)
        document = MarkdownDocument.parse(_with_links(data, old, new))
        if new not in resources_of(document.front_matter):
            document.set(SOURCE_KEY, f"[[{new}]]" if _linkable(new) else new)
        return Write(card, document.dump(), expected=content_hash(data))

    def _retargeted(self, path: str, old: str, new: str) -> list[Change]:
        if not is_markdown(path):
            return []
        try:
            data = self._parts.vault.read(path)
        except NotFound:
            return []
        written = data if is_pinned(data) else _with_links(data, old, new)
        return [] if written == data else [Write(path, written, expected=content_hash(data))]

    def _hash(self, path: str) -> str:
        if path not in self._hashes:
            try:
                self._hashes[path] = content_hash(self._parts.vault.read(path))
            except ReMeError:  # unreadable: it is reported where it is read itself
                self._hashes[path] = ""
        return self._hashes[path]


@dataclass(frozen=True, slots=True)
class Missing:
    """A resource that is not there, and the card that was made from it."""

    resource: str
    card: str


def missing_among(owned: Mapping[str, Iterable[Claim]], present: set[str]) -> list[Missing]:
    """Resources that have cards and are not among the files that are there."""
    return [
        Missing(resource, claim.card)
        for resource, cards in sorted(owned.items())
        if resource not in present
        for claim in cards
    ]


def is_suspicious(missing: int, total: int) -> bool:
    """Whether so many resources are gone at once that their drive may be."""
    return missing >= _GUARDED_FROM and missing * 2 > total


def _linkable(path: str) -> bool:
    return links_to(f"[[{path}]]", path)


def _with_links(data: bytes, old: str, new: str) -> bytes:
    if not _linkable(new):
        return data
    text, encoding = decode_guessing(data)
    if not any(link.target_path == old for link in parse_wikilinks(text)):
        return data
    return encoding.encode(retarget_wikilinks(text, {old: new})[0])
