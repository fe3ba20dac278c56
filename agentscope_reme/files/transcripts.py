"""Transcripts of Claude Code: where they are, and the archive of their rows in a workspace.

Two files stand for one session. ``session/claude_code/<id>.jsonl`` is the evidence: the raw rows as
Claude Code wrote them, which it deletes after some weeks. ``session/dialog/`` holds what was said
in them, as the ordinary log of the session ``claude_code/<id>``; its cursor lines say how far it is
distilled. A session of a person's own with the id ``<id>`` is another one.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from agentscope_reme.errors import BadInput, BadMessage, NotFound
from agentscope_reme.files.claude_code_rows import RowReader, TranscriptRow, rows_of
from agentscope_reme.files.disk import Disk
from agentscope_reme.files.forgotten import ForgottenLines, forgotten_in
from agentscope_reme.files.locks import WorkspaceLocks
from agentscope_reme.files.looking import is_file
from agentscope_reme.files.session_lines import header_line
from agentscope_reme.files.session_names import session_file
from agentscope_reme.messages import Message
from agentscope_reme.workspace import Workspace, absolute, encode_name

TRANSCRIPT_FOLDER: Final = "session/claude_code"
"""Raw rows of Claude Code: evidence that cards link to; never searched, never distilled itself."""

_PREFIX: Final = "claude_code/"
_SUFFIX: Final = ".jsonl"


@dataclass(slots=True)
class TakenRows:
    """What an archive took over, and what of it the session log does not know yet.

    Attributes:
        archived: rows that are new in the archive.
        unlogged: turns the session log lacks, oldest first.
        refused: turns nobody could read; their rows are archived.
    """

    archived: int = 0
    unlogged: list[Message] = field(default_factory=list)
    refused: list[BadMessage] = field(default_factory=list)


def logged_as(session_id: str) -> str:
    """The id under which a Claude Code session is logged and distilled."""
    return _PREFIX + session_id


def archived_transcript(workspace: Workspace, logged_id: str) -> str | None:
    """The archive behind a logged id; ``None`` for sessions that are not Claude Code's."""
    if not logged_id.startswith(_PREFIX):
        return None
    path = session_file(workspace, TRANSCRIPT_FOLDER, logged_id.removeprefix(_PREFIX))
    return path if is_file(workspace.locate_normalised(path)) else None


def find_transcript(session_id: str, projects_dir: Path | None = None) -> Path | None:
    """The newest ``<projects>/*/<session id>.jsonl``; ``None`` when there is none.

    Args:
        session_id: as Claude Code names the session.
        projects_dir: by default ``$CLAUDE_CONFIG_DIR/projects``, or ``~/.claude/projects``.

    Raises:
        BadInput: the id is empty or is not a plain file name, or no folder can be called so.
    """
    require_plain(session_id)
    folder = absolute(projects_dir or _projects_folder())
    found: list[tuple[int, Path]] = []
    with suppress(OSError):
        for project in folder.iterdir():
            place = project / f"{session_id}{_SUFFIX}"
            with suppress(OSError):  # no folder, or one that may not be entered
                if place.is_file():
                    found.append((place.stat().st_mtime_ns, place))
    return max(found, default=(0, None))[1]


def require_plain(session_id: str) -> None:
    """Refuse an id that is not the plain name of a file.

    Raises:
        BadInput: it is empty, climbs out of its folder or contains a separator.
    """
    encode_name(session_id)
    if any(character in session_id for character in "/\\:\0"):
        raise BadInput(
            session_id,
            "a Claude Code session is named by a file, without separators",
            "Pass the `session_id` of the Stop event.",
        )


class TranscriptArchive:
    """The rows of one session, appended as they are and never rewritten.

    Args:
        workspace: where the archive lives.
        session_id: as Claude Code names the session.
        disk: how it is read and appended to.
        locks: keep other appenders out.

    Raises:
        BadInput: the id is empty or is not a plain file name.
    """

    def __init__(
        self, workspace: Workspace, session_id: str, *, disk: Disk, locks: WorkspaceLocks
    ) -> None:
        require_plain(session_id)
        self._workspace = workspace
        self._session_id = session_id
        self._disk = disk
        self._locks = locks

    @property
    def path(self) -> str:
        """The workspace path of the archive, whether or not it exists yet."""
        return session_file(self._workspace, TRANSCRIPT_FOLDER, self._session_id)

    def take(self, transcript: Path | None, logged: Container[str]) -> TakenRows:
        """Append, in one write and one flush, the rows the archive does not hold.

        Rows are known by their ``uuid``. A line that a crash cut short stays as it is; its row
        comes again.

        Args:
            transcript: where Claude Code writes; ``None`` when it is gone.
            logged: ids of the turns that the session log knows.

        Raises:
            NotFound: there is neither a transcript nor an archive.
            StorageFailed: a file cannot be read, or the archive is as it was.
        """
        taken = TakenRows()
        reader = RowReader()
        known: set[str] = set()
        fresh: list[bytes] = []
        with self._locks.session(logged_as(self._session_id)):
            place = self._workspace.locate_normalised(self.path)
            exists = is_file(place)
            if transcript is None and not exists:
                raise NotFound(
                    self._session_id,
                    "Claude Code has no transcript of this session",
                    "Check the id, or pass `projects_dir`.",
                )
            gone = self._forgotten(place) if exists else ForgottenLines()
            for row in self._rows(place if exists else None):
                known.add(row.uuid)
                _hear(reader, row, logged, taken)
            for row in self._rows(transcript):
                if row.uuid not in known and not gone.has_id(row.uuid):
                    known.add(row.uuid)
                    fresh.append(row.raw + b"\n")
                    _hear(reader, row, logged, taken)
            if fresh:
                self._disk.append(place, b"".join([*self._header(place, exists), *fresh]))
        taken.archived = len(fresh)
        return taken

    def _rows(self, place: Path | None) -> Iterator[TranscriptRow]:
        if place is not None:
            with self._disk.reading(place) as lines:
                yield from rows_of(lines)

    def _forgotten(self, place: Path) -> ForgottenLines:
        """The rows that were forgotten here, which a transcript may still hold."""
        with self._disk.reading(place) as lines:
            return ForgottenLines(forgotten_in(lines))

    def _header(self, place: Path, exists: bool) -> list[bytes]:
        """Says the id where the file's name does not."""
        if exists or place.name == self._session_id + _SUFFIX:
            return []
        return [header_line(self._session_id) + b"\n"]


def _hear(reader: RowReader, row: TranscriptRow, logged: Container[str], taken: TakenRows) -> None:
    try:
        message = reader.said_in(row)
    except BadMessage as error:
        taken.refused.append(error)
        return
    if message is not None and message.id not in logged:
        taken.unlogged.append(message)


def _projects_folder() -> Path:
    configured = os.environ.get("CLAUDE_CONFIG_DIR")
    return (Path(configured) if configured else Path.home() / ".claude") / "projects"
