"""Which file holds which session: names that are safe everywhere, ids that stay whole."""

from __future__ import annotations

import os
import stat
import unicodedata
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from agentscope_reme.errors import BadInput, BadPath
from agentscope_reme.files.looking import is_file, names_in
from agentscope_reme.files.session_lines import Header, parse_line
from agentscope_reme.workspace import Workspace, encode_name, hashed_name

DIALOG_FOLDER: Final = "session/dialog"
"""Session logs: the evidence that is distilled."""

ARCHIVE_FOLDER: Final = "session/agentscope"
"""Full archives of what left a context window."""

_SUFFIX: Final = ".jsonl"
_HEADER_BYTES: Final = 64 * 1024


def session_ids(workspace: Workspace) -> list[str]:
    """The ids of all logged sessions, sorted, as their callers spelled them.

    Raises:
        StorageFailed: their folder cannot be listed or entered.
    """
    named = (session_id_of(place) for place in dialog_files(workspace))
    return sorted({session_id for session_id in named if session_id is not None})


def odd_entries(workspace: Workspace) -> dict[str, str]:
    """What stands among the session logs and is none: why, by path.

    Raises:
        StorageFailed: their folder cannot be listed or entered.
    """
    found: dict[str, str] = {}
    for place in _entries_of(workspace, DIALOG_FOLDER):
        path = f"{DIALOG_FOLDER}/{place.name}"
        if _leads_out(workspace, place):
            found[path] = "a symlink that leads where no path may; it is passed over"
        elif not is_file(place):
            found[path] = "not a file; it is passed over"
        elif session_id_of(place) is None:
            found[path] = "it cannot be read, or its session id names no session; passed over"
    return found


def dialog_files(workspace: Workspace) -> list[Path]:
    """The files of all session logs, in no order.

    Raises:
        StorageFailed: their folder cannot be listed or entered.
    """
    return [p for p in _entries_of(workspace, DIALOG_FOLDER) if _is_log(workspace, p)]


def session_file(workspace: Workspace, folder: str, session_id: str) -> str:
    """The path of a session's file, whether or not it exists yet.

    The plain encoding of the id, unless a session whose name differs only by case came first;
    then a name with a hash. Once the file exists the answer never changes. Two that are created
    at the same time are kept apart by the session lock, which ids that differ by case share.

    Raises:
        BadInput: the id cannot name a file.
        StorageFailed: the folder cannot be listed or entered.
    """
    encoded = encode_name(session_id)
    normal = _normal(session_id)
    hashed = hashed_name(normal, encoded)
    own = _file_of(workspace, folder, normal, (encoded, hashed))
    if own is None:
        taken = {place.name.casefold() for place in _entries_of(workspace, folder)}
        free = hashed if (encoded + _SUFFIX).casefold() in taken else encoded
        # What took the name may be this session's own file, created since the first look.
        own = _file_of(workspace, folder, normal, (encoded, hashed)) or free
    return f"{folder}/{own}{_SUFFIX}"


def plain_file(folder: str, session_id: str) -> str:
    """The path a session's file has, unless one whose name differs only by case came first.

    Raises:
        BadInput: the id cannot name a file.
    """
    return f"{folder}/{encode_name(session_id)}{_SUFFIX}"


def is_same_session(held: str | None, session_id: str) -> bool:
    """Whether the id in a header is another spelling of this one."""
    return held is not None and _normal(held) == _normal(session_id)


def _normal(session_id: str) -> str:
    return unicodedata.normalize("NFC", session_id)


def _file_of(workspace: Workspace, folder: str, normal: str, names: tuple[str, ...]) -> str | None:
    """Which of these files belongs to the session."""
    for name in names:
        place = workspace.root / folder / (name + _SUFFIX)
        held = session_id_of(place) if _is_log(workspace, place) else None
        if is_same_session(held, normal):
            return name
    return None


def _is_log(workspace: Workspace, place: Path) -> bool:
    try:
        mode = os.lstat(place).st_mode  # one look for each log: there may be thousands
    except OSError:
        return is_file(place)  # says no, or why it cannot be said
    if not stat.S_ISLNK(mode):
        return stat.S_ISREG(mode)
    return is_file(place) and not _leads_out(workspace, place)


def _leads_out(workspace: Workspace, place: Path) -> bool:
    """Whether a log is a symlink that no path may follow: it is nobody's evidence."""
    try:
        if os.path.islink(place):
            workspace.real(place.relative_to(workspace.root).as_posix())
    except BadPath:
        return True
    return False


def _entries_of(workspace: Workspace, folder: str) -> list[Path]:
    """What stands in a folder of logs; nothing where the folder itself leads out."""
    try:
        root = workspace.locate_normalised(folder)
    except BadPath:
        return []
    found = (root / name for name in names_in(root) if not name.startswith("."))
    return [place for place in found if place.suffix == _SUFFIX]


def session_id_of(place: Path) -> str | None:
    """The id in the header; a file that lost its header goes by its name.

    ``None`` when the file cannot be read, or says an id that can name no session.
    """
    try:
        session_id = _written_id(place)
        if session_id is None:
            session_id = unquote(place.name.removesuffix(_SUFFIX), errors="surrogatepass")
        encode_name(session_id)
    except (OSError, BadInput):
        return None
    return session_id


def _written_id(place: Path) -> str | None:
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
    return None
