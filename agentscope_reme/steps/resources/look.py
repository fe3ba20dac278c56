"""What became of one resource since its card was written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from agentscope_reme.errors import BadDocument, BadInput, BadPath, NotFound
from agentscope_reme.files.documents import MarkdownDocument
from agentscope_reme.files.pins import is_pinned
from agentscope_reme.schema import content_hash
from agentscope_reme.settings import Settings
from agentscope_reme.steps.resources.ledger import Ledger, Reading
from agentscope_reme.steps.resources.material import MOST_BINARY_BYTES
from agentscope_reme.steps.resources.ownership import Cursor, cards_of, cursor_of
from agentscope_reme.steps.resources.places import Kind, day_of, kind_of, suffix_of
from agentscope_reme.store.base import BaseFileStore
from agentscope_reme.tools.access import resources_of
from agentscope_reme.vault.tree import SeenFile
from agentscope_reme.vault.vault import Vault

_ONE: Final = "Keep `source_resource` in one of them only."
_SMALLER: Final = "Split it, or keep it elsewhere."


@dataclass(frozen=True, slots=True)
class Settled:
    """Nothing is to be done; ``pinned`` names a card that stands still although it would change."""

    reading: Reading | None = None
    pinned: str = ""


@dataclass(frozen=True, slots=True)
class Absent:
    """The file is not there (any more); ``cards`` were made from it."""

    cards: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Due:
    """A version of a resource that is to be read.

    Attributes:
        seen: the file, with the stamp it had before it was read.
        kind: how it is read.
        data: its bytes.
        sha: their hash.
        card: the card to bring in step; ``None`` for a new one.
        cursor: how far that card follows; for a resource without one, what was read without result.
    """

    seen: SeenFile
    kind: Kind
    data: bytes
    sha: str
    card: str | None
    cursor: Cursor

    @property
    def path(self) -> str:
        """The resource."""
        return self.seen.path

    def start(self, total: int) -> int:
        """Where to read on, when this very version was read in part before.

        Args:
            total: how many characters it has; parts of another text do not count.
        """
        partly = self.cursor.reading == self.sha and self.cursor.total == total
        return self.cursor.read if partly and self.cursor.read < total else 0


Look = Settled | Absent | Due


def unsuited(path: str) -> BadInput | None:
    """Why no card can be made of any file of this name; ``None`` when one can."""
    try:
        day_of(path)
    except BadPath as error:
        return error
    if kind_of(path) is None:
        remedy = "Convert it, or keep it outside of `resource/`."
        return BadInput(path, f"no reader for {suffix_of(path) or 'a name without ending'}", remedy)
    return None


@dataclass(frozen=True, slots=True)
class Onlooker:
    """Compares resources with their cards. Reads only; plain functions.

    Args:
        vault: the files.
        store: the index: whose card is whose.
        settings: how large a text may be.
        ledger: what no card can tell.
    """

    vault: Vault
    store: BaseFileStore
    settings: Settings
    ledger: Ledger

    def look(self, path: str, *, named: bool) -> Look:
        """Tell what is to be done about a resource.

        Args:
            path: a normalised path.
            named: the caller named this resource: a card that a person deleted is made again.

        Raises:
            BadInput: no card can be made of it, or two cards say they are its card.
            StorageFailed: it cannot be read.
        """
        seen = self.vault.seen(path)
        known = self.ledger.get(path)
        cards = cards_of(self.store, path) or self._unlisted(path, known)
        if seen is None:
            return Absent(tuple(cards))
        kind = self._readable(seen)
        try:
            data = self.vault.read(path)
        except NotFound:  # gone since we looked
            return Absent(tuple(cards))
        if len(cards) > 1:
            listed = ", ".join(cards)
            raise BadInput(path, f"{len(cards)} cards say they are made from it: {listed}", _ONE)
        due = self._due(seen, kind, data, cards[0] if cards else None, known)
        return self._judged(due, known, named=named)

    def _readable(self, seen: SeenFile) -> Kind:
        if (reason := unsuited(seen.path)) is not None:
            raise reason
        kind = kind_of(seen.path) or "text"
        is_text = kind in ("text", "html")
        most = self.settings.max_indexed_file_bytes if is_text else MOST_BINARY_BYTES
        if seen.size > most:
            raise BadInput(seen.path, f"it has {seen.size} bytes, more than {most}", _SMALLER)
        return kind

    def _due(
        self, seen: SeenFile, kind: Kind, data: bytes, card: str | None, known: Reading | None
    ) -> Due:
        sha = content_hash(data)
        if card is not None:
            return Due(seen, kind, data, sha, card, cursor_of(self.vault.read(card)))
        partly = known is not None and not known.settled and known.sha == sha
        cursor = Cursor("", sha, known.read, known.total) if known and partly else Cursor()
        return Due(seen, kind, data, sha, None, cursor)

    def _judged(self, due: Due, known: Reading | None, *, named: bool) -> Look:
        if due.card is None:
            if known is None or not known.settled or known.sha != due.sha:
                return due
            if named and known.card and not self._stands(known):  # a person deleted it
                return due
            return Settled(settled(due, known.card))
        if due.cursor.sha == due.sha and not due.cursor.reading:
            return Settled(settled(due, due.card))
        if is_pinned(self.vault.read(due.card)):
            return Settled(pinned=due.card)
        return due

    def _unlisted(self, path: str, known: Reading | None) -> list[str]:
        """The card the ledger knows of, where the index does not tell whose it is.

        Raises:
            BadDocument: its front matter cannot be read; it must not get a second card beside it.
        """
        if known is None or known.card is None or not self._stands(known):
            return []
        document = MarkdownDocument.parse(self.vault.read(known.card))
        if error := document.front_matter_error:
            raise BadDocument(known.card, f"the card of {path} is damaged: {error}", "Mend it.")
        return [known.card] if path in resources_of(document.front_matter) else []

    def _stands(self, known: Reading | None) -> bool:
        return known is not None and bool(known.card) and self.vault.exists(known.card or "")


def settled(due: Due, card: str | None) -> Reading:
    """The line of a resource that was read to its end."""
    seen = due.seen
    return Reading(
        due.path, due.sha, settled=True, card=card, mtime_ns=seen.mtime_ns, size=seen.size
    )
