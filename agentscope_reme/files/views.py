"""What a tool may do with files: the same for the live vault and for a staged `ChangeSet`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from agentscope_reme.files.changes import ANY, Expected
from agentscope_reme.schema import FileLink


@dataclass(frozen=True, slots=True)
class ViewChange:
    """What one change did.

    ``content_hash`` is ``None`` when the file is gone; ``inbound`` are links that pointed at a
    deleted or moved file; ``touched`` are the files rewritten because they linked to it.
    """

    change_id: str
    content_hash: str | None
    created: bool = False
    indexed: bool = True
    touched: tuple[str, ...] = ()
    inbound: tuple[FileLink, ...] = ()


class FileView(Protocol):
    """Files by normalised workspace path. Paths are checked by whoever implements this."""

    def exists(self, path: str) -> bool:
        """Whether a file stands at `path`."""

    def read(self, path: str) -> bytes:
        """The file's bytes.

        Raises:
            NotFound: no file stands there.
        """

    def paths(self, prefix: str = "") -> list[str]:
        """Files below a folder (all for ``""``), sorted, without hidden and internal ones."""

    def inlinks(self, path: str) -> list[FileLink]:
        """Links that point at `path`, from other files."""

    def write(self, path: str, data: bytes, *, expected: Expected = ANY) -> ViewChange:
        """Create or replace a file.

        Raises:
            Conflict: the file is not the expected one.
        """

    def delete(self, path: str) -> ViewChange:
        """Take a file or a folder away.

        Raises:
            NotFound: nothing stands there.
        """

    def move(
        self, src: str, dst: str, *, overwrite: bool = False, retarget: bool = True
    ) -> ViewChange:
        """Rename a file or a folder; with `retarget` inbound links follow.

        Raises:
            NotFound: nothing stands at `src`.
            Conflict: something stands at `dst` and `overwrite` is false.
        """


class LookingView:
    """A `FileView` upon another one; subclasses say what they do differently.

    Args:
        view: what is looked through.
    """

    def __init__(self, view: FileView) -> None:
        self._view = view

    def exists(self, path: str) -> bool:
        """Whether a file stands at `path`."""
        return self._view.exists(path)

    def read(self, path: str) -> bytes:
        """The file's bytes.

        Raises:
            NotFound: no file stands there.
        """
        return self._view.read(path)

    def paths(self, prefix: str = "") -> list[str]:
        """Files below a folder, sorted."""
        return self._view.paths(prefix)

    def inlinks(self, path: str) -> list[FileLink]:
        """Links that point at `path`, from other files."""
        return self._view.inlinks(path)

    def write(self, path: str, data: bytes, *, expected: Expected = ANY) -> ViewChange:
        """Create or replace a file."""
        return self._view.write(path, data, expected=expected)

    def delete(self, path: str) -> ViewChange:
        """Take a file or a folder away."""
        return self._view.delete(path)

    def move(
        self, src: str, dst: str, *, overwrite: bool = False, retarget: bool = True
    ) -> ViewChange:
        """Rename a file or a folder; with `retarget` inbound links follow."""
        return self._view.move(src, dst, overwrite=overwrite, retarget=retarget)
