"""Whose index the rows of a shared engine are: an id that stands among the files themselves."""

from __future__ import annotations

import hashlib
import uuid
from typing import Final

from agentscope_reme.errors import BadInput, NotFound
from agentscope_reme.files.disk import Disk
from agentscope_reme.files.locks import WorkspaceLocks
from agentscope_reme.workspace import Workspace

LONGEST_NAME_BYTES: Final = 128
_FILE: Final = "shared_index_id"


def name_in(namespace: str, workspace: Workspace) -> str:
    """The name of a workspace in a shared engine: where a folder is mounted plays no part.

    Args:
        namespace: of the application; two workspaces of one namespace are told apart by their user.
        workspace: the workspace.

    Raises:
        BadInput: the namespace is empty or has a slash.
    """
    if not namespace or "/" in namespace or not namespace.isprintable():
        raise BadInput(
            namespace, "this is no namespace", "Name the application, without a slash: 'support'."
        )
    name = namespace if workspace.user is None else f"{namespace}/{workspace.user}"
    encoded = name.encode("utf-8", "surrogatepass")
    if len(encoded) <= LONGEST_NAME_BYTES:
        return name
    return f"{namespace[:16]}/~{hashlib.blake2b(encoded, digest_size=24).hexdigest()}"


def owner_of(workspace: Workspace, disk: Disk) -> str:
    """The id of a workspace, the same for every worker that sees its files; made by the first.

    It keeps two workspaces that were given one name from taking each other's files for missing.

    Raises:
        StorageFailed: it cannot be read or written.
    """
    place = workspace.journal / _FILE
    with WorkspaceLocks(workspace).commit():
        try:
            known = disk.read(place).decode("ascii", "replace").strip()
        except NotFound:
            known = ""
        if not known:
            known = uuid.uuid4().hex
            disk.replace(place, known.encode("ascii") + b"\n")
    return known
