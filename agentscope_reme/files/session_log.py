"""The log of one conversation: appended durably before any model is asked, never rewritten.

Lines keep their order of arrival; readers sort by event time. A resubmitted message is not stored
twice. An edited one (same id, other content) is appended with ``supersedes`` and readers show only
the newest. What cannot be read stays in the file byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from agentscope_reme.clock import Clock
from agentscope_reme.errors import BadPath, NotFound
from agentscope_reme.files.disk import Disk
from agentscope_reme.files.growing_file import Extension
from agentscope_reme.files.locks import WorkspaceLocks
from agentscope_reme.files.log_state import KnownLine, LogState, LogStates
from agentscope_reme.files.session_batch import Appended, Batch
from agentscope_reme.files.session_lines import (
    Distilled,
    Form,
    LoggedMessage,
    as_archived,
    as_logged,
    header_line,
)
from agentscope_reme.files.session_names import (
    ARCHIVE_FOLDER,
    DIALOG_FOLDER,
    is_same_session,
    plain_file,
    session_file,
    session_ids,
)
from agentscope_reme.messages import Message
from agentscope_reme.workspace import Workspace, encode_name

__all__ = [
    "Appended",
    "Distilled",
    "LoggedMessage",
    "SessionArchive",
    "SessionContents",
    "SessionLog",
    "session_ids",
]


@dataclass(frozen=True, slots=True)
class SessionContents:
    """A log as readers see it: newest versions in event order, cursors, unreadable lines."""

    messages: tuple[LoggedMessage, ...]
    distilled: tuple[Distilled, ...]
    unreadable: tuple[int, ...]


class _SessionFile:
    """A file of message lines under one session id.

    Args:
        workspace: where it lives.
        session_id: whose file it is.
        disk: how it is read and appended to.
        locks: keep other appenders out.
        clock: the source of "now".
        states: what is known of logs; share them, and a log is parsed once.
    """

    _folder: str
    _form: Form

    def __init__(
        self,
        workspace: Workspace,
        session_id: str,
        *,
        disk: Disk,
        locks: WorkspaceLocks,
        clock: Clock,
        states: LogStates | None = None,
    ) -> None:
        encode_name(session_id)  # refuse an impossible id here, not at the first append
        self._workspace = workspace
        self.session_id: Final = session_id
        self._locks = locks
        self._clock = clock
        self._states = states or LogStates(disk)
        self._path: str | None = None

    @property
    def path(self) -> str:
        """The workspace path of the file, whether or not it exists yet."""
        return self._path or session_file(self._workspace, self._folder, self.session_id)

    def _append(self, messages: Sequence[Message]) -> Appended:
        with self._locks.session(self.session_id):
            path = self._path_if_known() or self.path
            appended = self._append_at(path, messages)
            if appended.written is not None:  # from now on no other file can be this session's
                self._path = path
            return appended

    def _path_if_known(self) -> str | None:
        """`path`, where nobody wrote to the file since this process read or wrote it."""
        path = plain_file(self._folder, self.session_id)
        with suppress(BadPath), self._state(path) as state:  # a symlink that leads out may be there
            return path if is_same_session(state.known_session(), self.session_id) else None
        return None

    def _append_at(self, path: str, messages: Sequence[Message]) -> Appended:
        with self._state(path) as state:
            known = state.current()
            batch = Batch(known, self.session_id, self._form)
            batch.add_all(messages)
            if not batch.lines:
                return batch.outcome()
            header = [] if known.session_id else [KnownLine(header_line(self.session_id))]
            return batch.outcome(state.append([*header, *batch.lines]))

    @contextmanager
    def _state(self, path: str | None = None) -> Iterator[LogState]:
        """What is known of the file, held against other threads."""
        state = self._states.of(self._workspace.locate_normalised(path or self.path))
        with state.lock:
            yield state


class SessionLog(_SessionFile):
    """The evidence: ``session/dialog/<id>.jsonl``.

    Base64 data and tool results are left out; a reference says their hash and size.

    Raises:
        BadInput: the id is empty, climbs out of its folder or cannot name a file.
    """

    _folder = DIALOG_FOLDER
    _form = staticmethod(as_logged)

    _shown_on: Mapping[str, int] = MappingProxyType({})

    def append(self, messages: Sequence[Message]) -> Appended:
        """Make the messages durable; known ones are counted and skipped.

        One write and one flush, whatever the number of messages. A message without an id is known
        by role, time and text: at any place when it has a time, else at the same position.

        Raises:
            StorageFailed: the log is as it was.
        """
        return self._append(messages)

    def ids_of(self, messages: Sequence[Message]) -> tuple[str, ...]:
        """The ids under which `append` would log these messages; nothing is written."""
        with self._state() as state:
            batch = Batch(state.current(), self.session_id, self._form)
            batch.add_all(messages)
            return batch.outcome().ids

    def read(self) -> SessionContents:
        """Everything the log says; empty when there is none."""
        with self._state() as state:
            known = state.current()
            unreadable = set(known.unreadable)
            newest = state.read(list(known.rows.items()), unreadable)
            distilled = tuple(known.distilled)
        messages = self._in_event_order(newest)
        return SessionContents(messages, distilled, tuple(sorted(unreadable)))

    def known_ids(self) -> frozenset[str]:
        """The ids of all messages the log holds."""
        with self._state() as state:
            return frozenset(state.current().rows)

    def is_forgotten(self, message_id: str) -> bool:
        """Whether a message was forgotten: it is not logged again, nor what it brings along."""
        with self._state() as state:
            return state.current().has_forgotten(message_id)

    def distilled(self) -> tuple[Distilled, ...]:
        """The cursors, oldest first."""
        with self._state() as state:
            return tuple(state.current().distilled)

    def pending(self) -> list[LoggedMessage]:
        """What no cursor has passed yet, in order of arrival; an edit makes a message new.

        Passing the last one's id to `mark_distilled` settles exactly these.
        """
        with self._state() as state:
            waiting = state.read(state.current().waiting(), set())
        self._shown_on = {logged.id: logged.line for logged in waiting}
        return waiting

    def answered(self, request_id: str) -> Distilled | None:
        """The cursor that a request of this name left behind; the latest one."""
        found = (cursor for cursor in self.distilled()[::-1] if cursor.request_id == request_id)
        return next(found, None)

    def is_waiting(self) -> bool:
        """Whether `pending` holds anything; only as much is read as it takes to tell."""
        with self._state() as state:
            return any(state.read([row], set()) for row in state.current().waiting())

    def mark_distilled(
        self,
        through: str,
        *,
        card: str | None,
        request_id: str | None = None,
        fingerprint: str | None = None,
        result: Mapping[str, Any] | None = None,
    ) -> Extension | None:
        """Note durably that everything up to and including `through` was distilled.

        Args:
            through: the id of the last message that was read.
            card: where it went; ``None`` when nothing was worth a card.
            request_id: the caller's name for the request.
            fingerprint: a hash of what the request asked.
            result: what the request was answered, for `answered`.

        Returns:
            The file around the write; ``None`` when not by us alone.

        Raises:
            NotFound: the log holds no such message.
            StorageFailed: the log is as it was.
        """
        with self._locks.session(self.session_id), self._state() as state:
            if through not in state.current().rows:
                raise NotFound(through, f"no such message in {self.path}", "Pass a logged id.")
            at = self._clock.now().isoformat(timespec="seconds")
            line = self._shown_on.get(through)
            cursor = Distilled(through, card, request_id, fingerprint, at, line, result)
            return state.append([KnownLine(cursor.dump())])

    def mark_answered(
        self, request_id: str, *, fingerprint: str, result: Mapping[str, Any]
    ) -> Extension | None:
        """Note durably what a request was answered that had nothing to distil.

        The last cursor is repeated with the request on it, so no turn is passed by it. A log
        without a cursor keeps no answers.

        Raises:
            StorageFailed: the log is as it was.
        """
        with self._locks.session(self.session_id), self._state() as state:
            cursors = state.current().distilled
            if not cursors:
                return None
            at = self._clock.now().isoformat(timespec="seconds")
            answer = replace(
                cursors[-1], request_id=request_id, fingerprint=fingerprint, at=at, result=result
            )
            return state.append([KnownLine(answer.dump())])

    def _in_event_order(self, arrived: Sequence[LoggedMessage]) -> tuple[LoggedMessage, ...]:
        """Sort by event time; a message without one stays behind the one it followed."""
        keyed: list[tuple[float, int]] = []
        moment = float("-inf")
        for index, logged in enumerate(arrived):
            if logged.message.created_at is not None:
                moment = self._clock.localise(logged.message.created_at).timestamp()
            keyed.append((moment, index))
        return tuple(arrived[index] for _, index in sorted(keyed))


class SessionArchive(_SessionFile):
    """What left the context window, whole: ``session/agentscope/<id>.jsonl``."""

    _folder = ARCHIVE_FOLDER
    _form = staticmethod(as_archived)

    def append(self, messages: Sequence[Message]) -> Appended:
        """Keep the messages in full; known ones are counted and skipped.

        Raises:
            StorageFailed: the archive is as it was.
        """
        return self._append(messages)

    def read(self) -> tuple[Message, ...]:
        """Everything that is kept, in order of arrival; empty when there is no archive."""
        with self._state() as state:
            rows = state.read(list(state.current().rows.items()), set())
        return tuple(row.message for row in rows)
