"""What a vault shows without changing anything: files, links, history and diffs."""

from __future__ import annotations

import contextlib

from agentscope_reme.errors import NotFound
from agentscope_reme.files.journal import Journal
from agentscope_reme.files.looking import is_file
from agentscope_reme.results import ChangeRecord, Failure
from agentscope_reme.schema import FileLink
from agentscope_reme.store.base import BaseFileStore
from agentscope_reme.vault.committing import Committer
from agentscope_reme.vault.showing import concerns, diff_of, record_of
from agentscope_reme.vault.tree import SeenFile, SeenFiles, Tree


class WorkspaceReader:
    """The reading half of `Vault`; takes no lock.

    Args:
        tree: the files.
        store: the index, for links.
        journal: what changed.
        committer: finds kept contents.
    """

    def __init__(
        self, tree: Tree, store: BaseFileStore, journal: Journal, committer: Committer
    ) -> None:
        self._tree = tree
        self._journal = journal
        self._committer = committer
        self.store = store

    def exists(self, path: str) -> bool:
        """Whether a file stands at `path`.

        Raises:
            BadPath: the path is unsafe.
            StorageFailed: the workspace is gone, which says nothing about the file.
        """
        return is_file(self._tree.place(self._tree.name(path))) or self._is_nothing()

    def read(self, path: str) -> bytes:
        """The bytes of a file.

        Raises:
            BadPath: the path is unsafe.
            NotFound: no file stands there.
            StorageFailed: it cannot be read, or the workspace is gone.
        """
        try:
            return self._tree.read(self._tree.name(path))
        except NotFound:
            self._is_nothing()
            raise

    def paths(self, prefix: str = "") -> list[str]:
        """Visible files below a folder, all of them for ``""``, sorted.

        Raises:
            BadPath: the folder is unsafe.
            StorageFailed: the workspace is gone.
        """
        folder = self._tree.name(prefix) if prefix.strip("/") else ""
        found = [file.path for file in self._tree.walk(folder)[0]]
        if not found:
            self._is_nothing()
        return found

    def survey(self, prefix: str) -> tuple[SeenFiles, list[Failure]]:
        """Visible files below a folder with time and size, sorted, and what cannot be listed.

        Raises:
            BadPath: the folder is unsafe.
        """
        return self._tree.walk(self._tree.name(prefix))

    def seen(self, path: str) -> SeenFile | None:
        """The time and size of a file; ``None`` when none stands there, or over a symlink.

        Raises:
            BadPath: the path is unsafe.
        """
        return self._tree.seen(self._tree.name(path))

    def inlinks(self, path: str) -> list[FileLink]:
        """Links that point at `path`, from other files."""
        self.store.refresh()
        return self.store.inlinks(self._tree.name(path))

    def history(self, path: str | None = None, limit: int = 50) -> list[ChangeRecord]:
        """Changes, newest first; with `path` those of a file or of anything below a folder.

        Raises:
            BadPath: the path is unsafe.
        """
        wanted = None if path is None else self._tree.name(path)
        found: list[ChangeRecord] = []
        for entry in self._journal.entries():
            if len(found) >= limit:
                break
            if concerns(entry, wanted):
                found.append(record_of(entry))
        if not found:
            self._is_nothing()
        return found

    def diff(self, change_id: str) -> str:
        """One change as a unified diff; binary files and renames are named as such.

        Raises:
            NotFound: there is no such change.
        """
        entry = self._journal.entry(change_id)
        return diff_of(entry, lambda sha, path: self._image(sha, entry.change_id, path))

    def _is_nothing(self) -> bool:
        """Always false: nothing is there, and that because the workspace says so.

        Raises:
            StorageFailed: the workspace is gone; a drive that is not mounted looks like no files.
        """
        self._tree.workspace.require()
        return False

    def _image(self, sha: str, change_id: str, path: str) -> bytes | None:
        if self._tree.hash(path) == sha:
            with contextlib.suppress(NotFound):
                return self._tree.read(path)
        content = self._committer.image(sha, change_id, path)
        return content.data if content else None
