"""Which file holds which session: names that are safe everywhere, ids that stay whole."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from agentscope_reme.files.session_lines import Header, parse_line
from agentscope_reme.workspace import Workspace, encode_name, hashed_name

DIALOG_FOLDER: Final = "session/dialog"
"""Session logs: the evidence that is distilled."""

ARCHIVE_FOLDER: Final = "session/agentscope"
"""Full archives of what left a context window."""

_SUFFIX: Final = ".jsonl"
_HEADER_BYTES: Final = 64 * 1024


def session_ids(workspace: Workspace) -> list[str]:
    """The ids of all logged sessions, sorted, as their callers spelled them."""
    return sorted({session_id_of(place) for place in dialog_files(workspace)})


def dialog_files(workspace: Workspace) -> list[Path]:
    """The files of all session logs, in no order."""
    return _logs_in(workspace.root / DIALOG_FOLDER)


def session_file(workspace: Workspace, folder: str, session_id: str) -> str:
    """The path of a session's file, whether or not it exists yet.

    The plain encoding of the id, unless a session whose name differs only by case came first;
    then a name with a hash. Once the file exists the answer never changes. Two that are created
    at the same time are kept apart by the session lock, which ids that differ by case share.

    Raises:
        BadInput: the id cannot name a file.
    """
    encoded = encode_name(session_id)
    normal = unicodedata.normalize("NFC", session_id)
    hashed = hashed_name(normal, encoded)
    root = workspace.root / folder
    for name in (encoded, hashed):
        place = root / (name + _SUFFIX)
        if place.exists() and unicodedata.normalize("NFC", session_id_of(place)) == normal:
            return f"{folder}/{name}{_SUFFIX}"
    taken = {place.name.casefold() for place in _logs_in(root)}
    name = hashed if (encoded + _SUFFIX).casefold() in taken else encoded
    return f"{folder}/{name}{_SUFFIX}"


def _logs_in(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return [p for p in folder.iterdir() if p.suffix == _SUFFIX and not p.name.startswith(".")]


def session_id_of(place: Path) -> str:
    """The id in the header; a file that lost its header goes by its name."""
    with place.open("rb") as log:
        room = _HEADER_BYTES
        while room > 0 and (raw := log.readline(room)):  # the header is the first readable line
            room -= len(raw)
            try:
                line = parse_line(1, raw.rstrip(b"\n")) if raw.strip() else None
            except ValueError:
                continue
            if isinstance(line, Header):
                return line.session_id
            if raw.strip():
                break
    return unquote(place.name.removesuffix(_SUFFIX), errors="surrogatepass")
