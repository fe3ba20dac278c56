"""What every file operation starts from: checked paths, rights, and compare-and-set rewriting."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final

from agentscope_reme.clock import Clock
from agentscope_reme.errors import BadInput, BadPath, Conflict, NotFound
from agentscope_reme.files.documents import MarkdownDocument
from agentscope_reme.files.looking import is_folder
from agentscope_reme.files.pins import is_person, is_pinned
from agentscope_reme.files.views import FileView, ViewChange
from agentscope_reme.files.wikilinks import parse_wikilinks
from agentscope_reme.schema import content_hash
from agentscope_reme.settings import Settings
from agentscope_reme.store.base import BaseFileStore
from agentscope_reme.tools.scope import Scope
from agentscope_reme.workspace import PERMANENT_FOLDERS, Workspace, is_markdown

CARD_KEYS: Final = ("session_id", "source_conversation")
"""Front matter that ties a card to its evidence."""

RESOURCE_KEYS: Final = ("source_resource", "source_hash", "source_progress")
"""Front matter that ties a card to a resource; only the code of such a run sets it."""

UNREADABLE: Final = "(cannot be read)"
"""What a list says of a file the disk refuses to give; the other files are listed all the same."""

_ATTEMPTS: Final = 4
_LINE_ANCHOR: Final = re.compile(r"(.+)#L(\d+)(?:-L?(\d+))?$")
_IN_LINKS: Final = re.compile(r"[\[\]#]")


@dataclass(frozen=True, slots=True)
class Access:
    """One actor's way to the files: the view, its rights, and the limits in force."""

    view: FileView
    store: BaseFileStore
    scope: Scope
    settings: Settings
    clock: Clock
    workspace: Workspace

    @property
    def answer_bytes(self) -> int:
        """The most UTF-8 bytes one answer may have."""
        return self.settings.tool_answer_bytes

    def readable(self, path: str) -> str:
        """The normalised path, when this actor may read it.

        Raises:
            BadPath: it is malformed, unsafe or out of scope.
        """
        clean = self._clean(path)
        for spelling in self._spellings(clean):
            self.scope.check_read(spelling)
        return clean

    def writable(self, path: str) -> str:
        """The normalised path, when this actor may change what stands there.

        Raises:
            BadPath: it is malformed, unsafe, permanent, out of scope or another session's card.
        """
        clean = self._clean(path)
        if clean.casefold() in PERMANENT_FOLDERS:
            raise BadPath(
                path, f"`{clean}/` is part of the workspace", "Name something inside it instead."
            )
        for spelling in self._spellings(clean):
            self.scope.check_write(spelling)
        self._refuse_foreign_card(clean)
        return clean

    def new_place(self, path: str) -> str:
        """`writable`, for a path that may not exist yet: links must be able to name it."""
        clean = self.writable(path)
        found = _IN_LINKS.search(clean)
        if found and not self.view.exists(clean):
            raise BadPath(
                path, f"a wikilink cannot name a path with {found[0]!r}", "Choose another name."
            )
        return clean

    def read(self, path: str) -> bytes:
        """The bytes of a file.

        Raises:
            NotFound: no such file; similar paths are named.
        """
        if self.view.exists(path):
            return self.view.read(path)
        raise self.missing(path)

    def is_folder(self, path: str) -> bool:
        """Whether a normalised path is a folder: one with files in the view, or an empty one."""
        return bool(self.view.paths(path)) or is_folder(self.workspace.locate_normalised(path))

    def missing(self, path: str) -> NotFound:
        """The error for a path that does not exist, naming what may have been meant."""
        if self.is_folder(path):
            return NotFound(path, "this is a folder", "Use `list` to see the files inside.")
        name = path.rsplit("/", 1)[-1].removesuffix(".md").casefold()
        close = [
            known
            for known in self.view.paths()
            if known.rsplit("/", 1)[-1].removesuffix(".md").casefold() == name
        ]
        remedy = "Use `list` or `search` to find it."
        if close:
            remedy = f"Did you mean {', '.join(repr(known) for known in close[:3])}?"
        return NotFound(path, "no such file", remedy)

    def rewrite(self, path: str, change: Callable[[bytes], bytes | None]) -> ViewChange | None:
        """Replace a file by a function of what it says now.

        When somebody else writes in between, the function is applied to their version.

        Args:
            path: a normalised path that exists.
            change: bytes now to bytes wanted; ``None`` means nothing to do.

        Raises:
            Conflict: others kept writing.
        """
        for attempt in range(_ATTEMPTS):
            before = self.read(path)
            wanted = change(before)
            if wanted is None:
                return None
            try:
                return self.view.write(path, wanted, expected=content_hash(before))
            except Conflict:
                if attempt == _ATTEMPTS - 1:
                    raise
        return None

    def day(self, given: str | None) -> str:
        """The day meant by a date argument: the scope's own, the given one, or today.

        Raises:
            BadInput: it is not a ``YYYY-MM-DD`` date.
        """
        if given is None or given == "":
            return self.scope.day or self.clock.today().isoformat()
        text = str(given).strip()
        try:
            known = re.fullmatch(r"\d{4}-\d{2}-\d{2}", text) and date.fromisoformat(text)
        except ValueError:
            known = None
        if not known:
            raise BadInput(given, "not a date", "Use YYYY-MM-DD, such as '2026-06-20'.")
        return text

    def session_of(self, path: str) -> str | None:
        """Whose card a file is, by its front matter; ``None`` when it says nothing."""
        if not is_markdown(path):
            return None
        owner = MarkdownDocument.parse(self.view.read(path)).front_matter.get("session_id")
        return None if owner in (None, "") else str(owner)

    def is_own_card(self, path: str, session_id: str | None = None) -> bool:
        """Whether a file is the card of this run's resource, or of a session.

        Args:
            path: the file.
            session_id: which session; the scope's own when left out.
        """
        if self.is_left_alone(path):
            return False
        if self.scope.resource:
            front = MarkdownDocument.parse(self.view.read(path)).front_matter
            return is_markdown(path) and resources_of(front) == [self.scope.resource]
        owner = self.session_of(path)
        return owner is not None and owner == (session_id or self.scope.session_id)

    def is_left_alone(self, path: str) -> bool:
        """Whether a file is pinned and this actor is not the person who may change it."""
        if is_person(self.scope.actor) or not is_markdown(path):
            return False
        return is_pinned(self.view.read(path))

    def stamp(self, seconds: float) -> str:
        """A file time as ISO 8601 in the workspace zone."""
        moment = datetime.fromtimestamp(seconds, self.clock.zone)
        return moment.isoformat(timespec="seconds")

    def _clean(self, path: str) -> str:
        if isinstance(path, str):
            _refuse_link_spelling(path.strip())
        return self.workspace.normalise(path)

    def _spellings(self, clean: str) -> set[str]:
        """The path as given and as it is behind symlinks: rights must cover both.

        Raises:
            BadPath: a symlink leads out of the workspace or into the library's own folders.
        """
        place = Path(os.path.realpath(self.workspace.locate_normalised(clean)))
        real = self.workspace.relative(place) or clean
        return {clean, self.workspace.normalise(real)}

    def _refuse_foreign_card(self, path: str) -> None:
        """In a run tied to one session, cards of other sessions are evidence, not workspace."""
        if not self.scope.is_card or path == self.scope.card or not self.view.exists(path):
            return
        if not self.is_own_card(path):
            scope = self.scope
            owner = scope.resource or f"session {scope.session_id!r}"
            raise BadPath(
                path, f"this file does not belong to {owner}", "Change only its own card."
            )


def resources_of(front: Mapping[str, Any]) -> list[str]:
    """The resources front matter says a card was made from; none for the card of a session.

    A name that no link can hold, such as one with brackets, stands there as plain text.
    """
    said = front.get("source_resource")
    if front.get("session_id") not in (None, "") or said in (None, ""):
        return []
    entries = [str(entry).strip() for entry in (said if isinstance(said, list) else [said])]
    return [path for entry in entries for path in _targets(entry)]


def _targets(entry: str) -> list[str]:
    links = [link.target_path for link in parse_wikilinks(entry) if not link.target_anchor]
    return links or [entry.removeprefix("[[").removesuffix("]]")]


def _refuse_link_spelling(path: str) -> None:
    if path.startswith(("[[", "![[")):
        raise BadPath(path, "this is a wikilink", "Pass the path inside the brackets.")
    anchor = _LINE_ANCHOR.match(path)
    if anchor:
        lines = f"start_line={anchor[2]} and end_line={anchor[3] or anchor[2]}"
        raise BadPath(
            path,
            "a line anchor is not part of a path",
            f"Use path={anchor[1]!r} with {lines}.",
        )
