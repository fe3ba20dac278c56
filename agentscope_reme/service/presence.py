"""How others find the service of a memory, and how it is known that it still lives.

Two files in ``.locks/``, readable by their owner only: ``service.json`` says where it listens, and
``service.token`` holds what callers have to know; it is kept, so that a client is set up once. A
claim of the workspace is held as long as the service lives. The kernel frees it when the process
dies, so what a killed service left is known to be stale. The claim alone is not trusted: who looks
whether it is taken holds it for a moment. The service has to prove that it is the one, too.
"""

from __future__ import annotations

import json
import os
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agentscope_reme.errors import Conflict, StorageFailed
from agentscope_reme.files.locks import WorkspaceLocks
from agentscope_reme.workspace import Workspace

_CLAIM: Final = "service"
_FILE: Final = "service.json"
_TOKEN_FILE: Final = "service.token"  # noqa: S105 - the name of a file
_MOST_CHARACTERS: Final = 4096
_NO_DETOURS: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""A symlink or a pipe that somebody put there is neither followed nor waited for."""

_CLAIM_SECONDS: Final = 1.0
"""How long a claim is tried: whoever only looks whether it is taken holds it for a moment."""


class Address(BaseModel):
    """Where a service listens, and how it was set up.

    Attributes:
        host: an address of the loopback interface.
        port: where.
        pid: its process.
        setup: names the configuration it was started with; see `cli`.
        with_token: whether callers need the token.
        secret: of this run; by it the service proves that it is the one meant, see `identity`.
    """

    model_config = ConfigDict(frozen=True, defer_build=True)

    host: str
    port: int
    pid: int
    setup: str
    with_token: bool
    secret: str = Field(min_length=32, repr=False)

    @property
    def url(self) -> str:
        """As a client writes it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"


def token_place(workspace: Workspace) -> Path:
    """Where the token of a workspace is kept."""
    return workspace.locks / _TOKEN_FILE


def kept_token(workspace: Workspace) -> str:
    """The token of a workspace; made when there is none, or when others could read it.

    Raises:
        StorageFailed: it cannot be written.
    """
    place = token_place(workspace)
    known = token_of(workspace)
    if known:
        return known
    token = secrets.token_urlsafe(32)
    _write_private(place, token + "\n")
    return token


def token_of(workspace: Workspace) -> str:
    """The token that is kept; empty when there is none, or others can read or change it."""
    try:
        return _read_private(token_place(workspace)).strip()
    except (OSError, ValueError):  # ValueError: not what was written there
        return ""


@contextmanager
def only_service(workspace: Workspace) -> Iterator[None]:
    """Be the one service of a workspace.

    Raises:
        Conflict: there is one already.
        StorageFailed: the workspace cannot be written.
    """
    workspace.create()
    locks = WorkspaceLocks(workspace)
    end = time.monotonic() + _CLAIM_SECONDS
    while True:
        with locks.claim(_CLAIM) as mine:
            if mine:
                place = workspace.locks / _FILE
                _remove(place)  # whatever a killed one left
                try:
                    yield
                finally:
                    _remove(place)
                return
        if time.monotonic() > end:
            raise _taken(workspace)
        time.sleep(0.01)


def announce(workspace: Workspace, address: Address) -> None:
    """Let others find the service.

    Raises:
        StorageFailed: it cannot be written.
    """
    _write_private(workspace.locks / _FILE, address.model_dump_json() + "\n")


def found(workspace: Workspace) -> Address | None:
    """The service of a workspace, when one is alive."""
    known = _announced(workspace)
    if known is None:
        return None
    with WorkspaceLocks(workspace).claim(_CLAIM) as nobody_has_it:
        return None if nobody_has_it else known


def _announced(workspace: Workspace) -> Address | None:
    try:
        return Address.model_validate(json.loads(_read_private(workspace.locks / _FILE)))
    except (OSError, ValueError, ValidationError):
        return None


def _taken(workspace: Workspace) -> Conflict:
    known = _announced(workspace)
    where = f"at {known.url}, process {known.pid}" if known else "and is just starting"
    return Conflict(
        str(workspace.root),
        f"a service of this memory is running already, {where}",
        "Use that one, or stop it first.",
    )


def _read_private(place: Path) -> str:
    """A file of this person that nobody else can read or change; empty when others could."""
    with open(os.open(place, os.O_RDONLY | _NO_DETOURS), encoding="ascii") as file:
        state = os.fstat(file.fileno())
        own = os.name == "nt" or (state.st_mode & 0o077 == 0 and state.st_uid == os.getuid())
        return file.read(_MOST_CHARACTERS) if own and stat.S_ISREG(state.st_mode) else ""


def _write_private(place: Path, text: str) -> None:
    """Replace a file by one that nobody else can read, at no moment."""
    draft = place.with_name(f"{place.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(text)
        draft.replace(place)
    except OSError as error:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise StorageFailed(
            str(place), f"it cannot be written: {error}", "Choose a folder that can be written."
        ) from error


def _remove(place: Path) -> None:
    with suppress(OSError):  # a leftover harms nobody: the claim says whether it is true
        place.unlink(missing_ok=True)
