"""The file calls of one actor: what `ReMe` and agents' tools do with the workspace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentscope_reme.clock import Clock
from agentscope_reme.files.views import FileView
from agentscope_reme.results import (
    ChangeResult,
    FrontMatterResult,
    ImageResult,
    ListResult,
    ReadResult,
    StatResult,
)
from agentscope_reme.settings import Settings
from agentscope_reme.store.base import BaseFileStore
from agentscope_reme.tools import changing, daily, front_matter_tools, images, listing, reading
from agentscope_reme.tools.access import Access
from agentscope_reme.tools.pinned import respecting
from agentscope_reme.tools.scope import Scope
from agentscope_reme.workspace import Workspace


class FileOperations:
    """Reads and changes files within one `Scope`. Plain functions; safe from several threads.

    Every ``answer`` tells the whole story by itself and stays within
    `Settings.tool_answer_bytes`. All methods raise `BadPath` for a path that is malformed,
    leaves the workspace or is out of scope, `NotFound` for a missing file, and `StorageFailed`
    when the disk refuses.

    Args:
        view: the live files, or a `ChangeSet` staged over them.
        store: the index, for links and for what is indexed.
        scope: the actor's rights, checked on every call.
        settings: limits in force.
        clock: what day it is.
        workspace: the boundary.
    """

    def __init__(
        self,
        view: FileView,
        store: BaseFileStore,
        *,
        scope: Scope,
        settings: Settings,
        clock: Clock,
        workspace: Workspace,
    ) -> None:
        view = respecting(view, scope.actor)
        self._access = Access(view, store, scope, settings, clock, workspace)

    @property
    def scope(self) -> Scope:
        """The rights of this actor."""
        return self._access.scope

    @property
    def settings(self) -> Settings:
        """The limits in force."""
        return self._access.settings

    def read(
        self,
        path: str,
        *,
        start_line: int | None = None,
        end_line: int | None = None,
        neighbors: bool = False,
    ) -> ReadResult:
        """Lines of a text file; a longer range is cut and the answer says how to read on.

        Args:
            path: the file.
            start_line: first line, counted from 1; the beginning when left out.
            end_line: last line, inclusive; beyond the end means the end.
            neighbors: also list the files it links to and those that link to it.

        Raises:
            BadInput: the range is empty or outside the file, or the file is not text.
        """
        return reading.read_lines(self._access, path, start_line, end_line, neighbors)

    def read_image(self, path: str) -> ImageResult:
        """A PNG, JPEG, GIF, WebP or BMP picture of at most 5 MB, as Base64.

        Raises:
            BadInput: it is not such a picture, or larger.
        """
        return images.read_image(self._access, path)

    def write(
        self,
        path: str,
        content: str,
        *,
        name: str | None = None,
        description: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        expected_hash: str | None = None,
    ) -> ChangeResult:
        """Create a file or replace all of it.

        Args:
            path: the file; missing folders are made.
            content: the whole new text. Markdown gets a final newline.
            name: front matter of a Markdown file.
            description: front matter of a Markdown file.
            metadata: further front matter; ``None`` values are left out.
            expected_hash: the content hash the file must have now; empty text means that it must
                not exist; ``None`` does not care.

        Raises:
            Conflict: the file is not the expected one.
            BadInput: front matter was given for a file that has none.
        """
        return changing.write(
            self._access, path, content, name, description, metadata, expected_hash
        )

    def edit(self, path: str, old: str, new: str, *, replace_all: bool = False) -> ChangeResult:
        """Replace an exact text; in Markdown only below the front matter.

        Args:
            path: the file.
            old: the text that stands there, exactly once.
            new: the text to put there; empty to remove it.
            replace_all: replace every occurrence.

        Raises:
            BadDocument: `old` is missing or ambiguous.
        """
        return changing.edit(self._access, path, old, new, replace_all)

    def delete(self, path: str) -> ChangeResult:
        """Move a file or a folder to the trash and list what still links to it."""
        return changing.delete(self._access, path)

    def move(
        self, src: str, dst: str, *, overwrite: bool = False, retarget: bool = True
    ) -> ChangeResult:
        """Rename a file or a folder.

        Args:
            src: what to move.
            dst: the new path; with a final slash, the folder to move it into.
            overwrite: replace a file that stands there.
            retarget: let the links of other files follow.

        Raises:
            Conflict: something stands at `dst`.
        """
        return changing.move(self._access, src, dst, overwrite, retarget)

    def list(self, path: str = "", *, recursive: bool = False, limit: int = 100) -> ListResult:
        """Files and folders in a folder, sorted by path.

        Args:
            path: the folder; the workspace itself when empty.
            recursive: all files below instead.
            limit: the most entries, 1 or more.
        """
        return listing.list_files(self._access, path, recursive, limit)

    def stat(self, path: str) -> StatResult:
        """What is known about a path; a missing one is an answer, not an error."""
        return listing.stat(self._access, path)

    def frontmatter_read(self, path: str) -> FrontMatterResult:
        """The front matter of a Markdown file, in the answer as YAML.

        Raises:
            BadDocument: it cannot be read.
        """
        return front_matter_tools.frontmatter_read(self._access, path)

    def frontmatter_update(self, path: str, metadata: Mapping[str, Any]) -> FrontMatterResult:
        """Set keys of the front matter; the other keys and the body keep every byte.

        Raises:
            BadDocument: the front matter cannot be edited safely.
        """
        return front_matter_tools.frontmatter_update(self._access, path, metadata)

    def frontmatter_delete(self, path: str, keys: Sequence[str]) -> FrontMatterResult:
        """Remove keys of the front matter; keys that are not there are named in the answer.

        Raises:
            BadDocument: the front matter cannot be edited safely.
        """
        return front_matter_tools.frontmatter_delete(self._access, path, keys)

    def daily_list(self, date: str | None = None) -> ListResult:
        """The cards of a day with their front matter.

        Args:
            date: ``YYYY-MM-DD``; today when left out.
        """
        return daily.daily_list(self._access, date)

    def daily_write(
        self,
        name: str,
        description: str,
        content: str,
        session_id: str | None = None,
        date: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> ChangeResult:
        """Write a card ``daily/<date>/<name>.md`` and list it on the day's page.

        A name that another card has gets ``-2``, ``-3``, ...; the same session writing the same
        name again replaces its own card.

        Args:
            name: a short topic, the file name without ``.md``.
            description: one sentence for lists and search.
            content: the body in Markdown.
            session_id: the conversation it comes from; the card then links to its log.
            date: ``YYYY-MM-DD``; today when left out.
            metadata: further front matter; ``name``, ``description``, ``session_id`` and
                ``source_conversation`` in it are ignored.

        Raises:
            BadInput: the name or the date cannot be used, or this run may not write that card.
        """
        return daily.daily_write(
            self._access, name, description, content, session_id, date, metadata
        )

    def daily_reindex(self, date: str | None = None) -> ChangeResult:
        """Bring the block of the page ``daily/<date>.md`` up to date.

        Text outside the block is kept; an unchanged page is not written and an empty day gets
        none.
        """
        return daily.daily_reindex(self._access, date)
