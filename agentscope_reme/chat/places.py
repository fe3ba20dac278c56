"""Where a path of the assistant leads: into the memory, or to any other file of this machine."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agentscope_reme.errors import BadPath, NotFound, StorageFailed
from agentscope_reme.workspace import LAYERS, Workspace

LARGEST_FILE: Final = 20 * 1024 * 1024
"""Larger files are not read, in bytes: no answer could hold them."""

_DEVICES: Final = ("/proc", "/sys")
"""What looks like files here may never end, or hold the keys of this process."""

_NOTES: Final = ("MEMORY.md", "memory")
_READ_ONLY: Final = (*LAYERS, "tool_result")


@dataclass(frozen=True, slots=True)
class Place:
    """A file or a folder.

    Attributes:
        path: whole, behind symlinks.
        inside: its path in the memory; empty for the memory itself, ``None`` elsewhere.
        name: what it is called in answers.
    """

    path: Path
    inside: str | None
    name: str

    @property
    def is_note(self) -> bool:
        """Whether notes stand here."""
        return self.inside is not None and self.inside.split("/")[0] in _NOTES

    @property
    def _is_device(self) -> bool:
        return not self.path.is_file() or any(map(self.path.is_relative_to, _DEVICES))

    def is_open_in(self, folder: Path) -> bool:
        """Whether it stands in a folder and nothing on the way there is hidden.

        Hidden files and folders are where keys are kept: ``.env``, ``.ssh``, ``.netrc``.
        """
        if not self.path.is_relative_to(folder):
            return False
        return not any(part.startswith(".") for part in self.path.relative_to(folder).parts)

    def refuse_layers(self) -> None:
        """Refuse to change what the memory writes by itself.

        Raises:
            BadPath: it stands in a layer.
        """
        if self.inside is not None and self.inside.split("/")[0].casefold() in _READ_ONLY:
            raise BadPath(
                self.name, "the memory writes this by itself", "Note it in MEMORY.md or memory/."
            )

    def refuse_unreadable(self) -> None:
        """Refuse what nobody needs to be asked about.

        Raises:
            NotFound: there is no such file.
            BadPath: it is a folder, no plain file, or too large.
            StorageFailed: the system refused.
        """
        try:
            if self.path.is_dir():
                raise BadPath(self.name, "this is a folder", "Use `ls`.")
            if not self.path.exists():
                raise NotFound(self.name, "no such file", "Use `ls` to find it.")
            if self._is_device or self.path.stat().st_size > LARGEST_FILE:
                raise BadPath(
                    self.name, f"no plain file of at most {LARGEST_FILE} bytes", "Use `bash`."
                )
        except OSError as error:
            raise _refused(self.name, error) from error

    def read(self) -> bytes:
        """The bytes of a file.

        Raises:
            NotFound: there is none.
            BadPath: it is a folder, no plain file, or too large.
            StorageFailed: it cannot be read.
        """
        self.refuse_unreadable()
        try:
            return self.path.read_bytes()
        except OSError as error:
            raise _refused(self.name, error) from error

    def write(self, data: bytes) -> bool:
        """Create or replace a file outside of the memory; whether it is new.

        Raises:
            BadPath: it is a folder.
            StorageFailed: it cannot be written.
        """
        try:
            if self.path.is_dir():
                raise BadPath(self.name, "this is a folder", "Name a file inside it.")
            if self.path.exists() and self._is_device:
                raise BadPath(self.name, "this is no plain file", "Use `bash`.")
            is_new = not self.path.exists()
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_bytes(data)
        except OSError as error:
            raise _refused(self.name, error) from error
        return is_new


def place_of(path: str, workspace: Workspace) -> Place:
    """Where a path leads; a relative one is seen from the memory.

    Raises:
        BadPath: it cannot be a path, or belongs to the library itself.
    """
    if not path.strip() or "\0" in path:
        raise BadPath(path, "this is no path", "Name a file, such as 'memory/2026-06-20.md'.")
    try:
        whole = Path(os.path.expanduser(path.strip()))
        real = Path(os.path.realpath(workspace.root / whole))
        root = Path(os.path.realpath(workspace.root))
    except (OSError, ValueError, RuntimeError) as error:
        raise BadPath(path, f"this is no path: {error}", "Name a file.") from error
    if real == root:
        return Place(real, "", ".")
    if not real.is_relative_to(root):
        return Place(real, None, str(real))
    inside = workspace.normalise(real.relative_to(root).as_posix())
    return Place(real, inside, inside)


def _refused(name: str, error: OSError) -> StorageFailed:
    return StorageFailed(name, f"the system refused: {error.strerror or error}", "Check its path.")
