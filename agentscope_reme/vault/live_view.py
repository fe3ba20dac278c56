"""The live workspace as a `FileView`: what is written is on the disk when the call returns."""

from __future__ import annotations

from agentscope_reme.files.changes import ANY, Expected, Write
from agentscope_reme.files.views import ViewChange
from agentscope_reme.schema import FileLink
from agentscope_reme.vault.outcomes import Commit
from agentscope_reme.vault.vault import Vault


class LiveView:
    """Files of a vault, changed under one actor's name.

    Args:
        vault: an open vault.
        actor: who changes files through this view, for the journal.
    """

    def __init__(self, vault: Vault, *, actor: str) -> None:
        self._vault = vault
        self._actor = actor

    def exists(self, path: str) -> bool:
        """Whether a file stands at `path`.

        Raises:
            BadPath: the path is unsafe.
        """
        return self._vault.exists(path)

    def read(self, path: str) -> bytes:
        """The file's bytes.

        Raises:
            NotFound: no file stands there.
        """
        return self._vault.read(path)

    def paths(self, prefix: str = "") -> list[str]:
        """Visible files below a folder, sorted."""
        return self._vault.paths(prefix)

    def inlinks(self, path: str) -> list[FileLink]:
        """Links that point at `path`, from other files."""
        return self._vault.inlinks(path)

    def write(self, path: str, data: bytes, *, expected: Expected = ANY) -> ViewChange:
        """Create or replace a file.

        Raises:
            Conflict: the file is not the expected one.
            BadPath: the path is unsafe or blocked by a folder.
            StorageFailed: the disk refused; the old file stands.
        """
        commit = self._vault.commit(
            [Write(path, data, expected)], actor=self._actor, operation="write"
        )
        return _seen(commit, next(iter(commit.hashes)))

    def delete(self, path: str) -> ViewChange:
        """Put a file or a folder into the trash.

        Raises:
            NotFound: nothing stands there.
            BadPath: the path is unsafe or a folder of the layout.
        """
        return _seen(self._vault.delete(path, actor=self._actor), path)

    def move(
        self, src: str, dst: str, *, overwrite: bool = False, retarget: bool = True
    ) -> ViewChange:
        """Rename a file or a folder; with `retarget` inbound links follow.

        Raises:
            NotFound: nothing stands at `src`.
            Conflict: something stands at `dst` and `overwrite` is false.
        """
        commit = self._vault.move(
            src, dst, overwrite=overwrite, retarget=retarget, actor=self._actor
        )
        return _seen(commit, dst)


def _seen(commit: Commit, path: str) -> ViewChange:
    return ViewChange(
        change_id=commit.change_id,
        content_hash=commit.hashes.get(path),
        created=path in commit.created,
        indexed=commit.indexed,
        touched=commit.touched,
        inbound=commit.inbound,
    )
