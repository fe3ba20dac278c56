"""Where the whole text of a tool result is kept when only its ends stay in the window.

A file is named after its content, ``tool_result/<32 hex digits>.<extension>``: the same result
never makes a second file, and nothing can conflict.
"""

from __future__ import annotations

import contextlib
import hashlib
import mimetypes
import os
import re
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from typing import Final, Protocol

from agentscope_reme.errors import BadInput, Conflict, ReMeError
from agentscope_reme.files.changes import Write
from agentscope_reme.files.disk import Disk
from agentscope_reme.messages import Message, ToolResultBlock
from agentscope_reme.vault.vault import Vault

RESULT_FOLDER: Final = "tool_result"
"""The folder of offloaded results, in every layout."""

_ACTOR: Final = "tool_result"
_NAME: Final = re.compile(r"[0-9a-f]{32}\.[a-z0-9]{1,10}")
_PATH: Final = re.compile(rf"\b{RESULT_FOLDER}/([0-9a-f]{{32}}\.[a-z0-9]{{1,10}})")
_DIGITS: Final = 32


class ResultFiles(Protocol):
    """Keeps payloads; all methods may be called from a thread."""

    def save(self, data: bytes, extension: str) -> str:
        """Keep bytes durably and return their path; bytes that are there are not written again.

        Raises:
            ReMeError: they could not be written.
        """

    def load(self, path: str) -> bytes | None:
        """The bytes of a path `save` returned; ``None`` when they are gone."""


class VaultResultFiles:
    """`ResultFiles` in the workspace of a vault.

    Args:
        vault: what writes; files of a hidden or foreign name are never touched.
        disk: what removes expired files; they leave neither trash nor journal behind.
    """

    def __init__(self, vault: Vault, disk: Disk) -> None:
        self._vault = vault
        self._disk = disk

    def save(self, data: bytes, extension: str) -> str:
        """Keep bytes durably and return their workspace path.

        Raises:
            StorageFailed: the disk refused.
        """
        path = f"{RESULT_FOLDER}/{result_name(data, extension)}"
        if self._renew(path):
            return path
        with contextlib.suppress(Conflict):  # another process saved the same bytes meanwhile
            self._vault.commit(
                [Write(path, data, expected=None)], actor=_ACTOR, operation="save_tool_result"
            )
        return path

    def load(self, path: str) -> bytes | None:
        """The bytes of a path `save` returned; ``None`` when they are gone or unreadable."""
        if not _PATH.fullmatch(path):
            return None
        try:
            return self._vault.read(path)
        except ReMeError:  # the message still shows its head and its tail
            return None

    def expire(
        self, retention_days: int, *, now: datetime, live: Collection[str] = ()
    ) -> list[str]:
        """Remove results that are older than the retention and that nothing alive points to.

        Args:
            retention_days: 0 or more; counted from when a result was last offloaded.
            now: the current instant, aware.
            live: paths that stay whatever their age, as `result_paths` finds them in messages.

        Returns:
            The removed paths.

        Raises:
            BadInput: the retention is negative, or no number.
            StorageFailed: the disk refused; the rest goes next time.
        """
        if not isinstance(retention_days, int | float) or retention_days < 0:
            raise BadInput(retention_days, "this is no retention", "Give days, 0 or more.")
        limit = (now - timedelta(days=retention_days)).timestamp()
        folder = self._vault.workspace.root / RESULT_FOLDER
        kept = {path.rpartition("/")[2] for path in live}
        removed = []
        for place in sorted(folder.iterdir()) if folder.is_dir() else ():
            named = _NAME.fullmatch(place.name) and place.name not in kept
            if named and place.is_file() and place.stat().st_mtime < limit:
                self._disk.remove(place)
                removed.append(f"{RESULT_FOLDER}/{place.name}")
        return removed

    def _renew(self, path: str) -> bool:
        """Let the life of a file that is there begin anew; whether it is there."""
        place = self._vault.workspace.locate(path)
        try:
            os.utime(place)
        except FileNotFoundError:
            return False
        except OSError:  # somebody else's file: it is there, which is what counts
            return place.is_file()
        return True


class HeldResultFiles:
    """`ResultFiles` in a dictionary, for tests and for windows without a workspace."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}

    def save(self, data: bytes, extension: str) -> str:
        """Keep bytes and return their path."""
        path = f"{RESULT_FOLDER}/{result_name(data, extension)}"
        self.files[path] = data
        return path

    def load(self, path: str) -> bytes | None:
        """The bytes of a path `save` returned."""
        return self.files.get(path)


def result_name(data: bytes, extension: str) -> str:
    """The file name of a payload: 32 hex digits of its SHA-256, and an extension."""
    return f"{hashlib.sha256(data).hexdigest()[:_DIGITS]}.{extension}"


def extension_of(media_type: str) -> str:
    """The usual extension of a media type; ``bin`` for an unknown one."""
    guessed = mimetypes.guess_extension(media_type.partition(";")[0].strip().casefold()) or ""
    return guessed.lstrip(".") or "bin"


def result_paths(messages: Iterable[Message]) -> set[str]:
    """The offloaded files these messages point to, by their state and not by what they quote."""
    noted = (
        block.omitted
        for message in messages
        for block in message.blocks
        if isinstance(block, ToolResultBlock) and block.omitted
    )
    return {f"{RESULT_FOLDER}/{name}" for note in noted for name in _PATH.findall(note)}


def text_path(note: str | None) -> str | None:
    """The text file a state note names, if it names one."""
    found = [name for name in _PATH.findall(note or "") if name.endswith(".txt")]
    return f"{RESULT_FOLDER}/{found[0]}" if found else None
