"""The session logs of one workspace, and what is already known of each."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TypeVar

from agentscope_reme.clock import Clock
from agentscope_reme.errors import StorageFailed
from agentscope_reme.files.disk import Disk
from agentscope_reme.files.growing_file import FileMark, mark_of
from agentscope_reme.files.locks import WorkspaceLocks
from agentscope_reme.files.log_state import LogStates
from agentscope_reme.files.session_log import SessionArchive, SessionLog
from agentscope_reme.files.session_names import dialog_files, session_id_of
from agentscope_reme.workspace import Workspace

L = TypeVar("L", SessionLog, SessionArchive)


class SessionLogs:
    """Opens session logs that share what was parsed, so that a turn costs what a turn is long.

    Thread-safe. Other processes may append to the same logs.

    Args:
        workspace: where the logs live.
        disk: how they are read and appended to.
        locks: keep other appenders out.
        clock: the source of "now".
    """

    def __init__(
        self, workspace: Workspace, *, disk: Disk, locks: WorkspaceLocks, clock: Clock
    ) -> None:
        self._workspace = workspace
        self._disk = disk
        self._locks = locks
        self._clock = clock
        self._states = LogStates(disk)
        self._looked_at: dict[Path, tuple[FileMark, str, bool]] = {}
        self._guard = threading.Lock()

    def log(self, session_id: str) -> SessionLog:
        """The log of one session.

        Raises:
            BadInput: the id is empty, climbs out of its folder or cannot name a file.
        """
        return self._opened(SessionLog, session_id)

    def archive(self, session_id: str) -> SessionArchive:
        """The archive of one session.

        Raises:
            BadInput: the id is empty, climbs out of its folder or cannot name a file.
        """
        return self._opened(SessionArchive, session_id)

    def waiting(self) -> list[str]:
        """Ids of sessions with turns that no distillation has read, sorted.

        Files that nobody wrote to since the last look are not opened. One that cannot be read is
        passed over: an examination names it.

        Raises:
            StorageFailed: the folder of the logs cannot be listed or entered.
        """
        places = dialog_files(self._workspace)
        looks = {place: self._look(place) for place in places}
        with self._guard:
            self._looked_at = {place: look for place, look in looks.items() if look is not None}
            return sorted({name for _, name, waits in self._looked_at.values() if waits})

    def _opened(self, kind: type[L], session_id: str) -> L:
        return kind(
            self._workspace,
            session_id,
            disk=self._disk,
            locks=self._locks,
            clock=self._clock,
            states=self._states,
        )

    def _look(self, place: Path) -> tuple[FileMark, str, bool] | None:
        mark = mark_of(place)
        if mark is None:
            return None
        with self._guard:
            known = self._looked_at.get(place)
        if known is not None and known[0] == mark:
            return known
        session_id = session_id_of(place)
        if session_id is None:
            return None
        try:
            return mark, session_id, self.log(session_id).is_waiting()
        except StorageFailed:
            return None
