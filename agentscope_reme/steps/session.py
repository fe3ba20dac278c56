"""A step's way to session logs, and which of them hold turns nobody has distilled."""

from __future__ import annotations

from typing import Generic, TypeVar

from agentscope_reme.errors import BadInput
from agentscope_reme.files.session_log import SessionLog
from agentscope_reme.files.transcripts import archived_transcript
from agentscope_reme.steps.base import BaseStep, Ref
from agentscope_reme.steps.context import Components

R = TypeVar("R")


class SessionStep(BaseStep[R], Generic[R]):
    """A step that works on session logs."""

    workspace = Ref(lambda parts: parts.workspace)
    clock = Ref(lambda parts: parts.clock)
    locks = Ref(lambda parts: parts.locks)
    vault = Ref(lambda parts: parts.vault)

    def log_of(self, session_id: str) -> SessionLog:
        """The log of one session.

        Raises:
            BadInput: the id is empty or cannot name a file.
        """
        return open_log(self.context.application.components, session_id)

    def evidence_of(self, log: SessionLog) -> str:
        """The file a card names as its source: the log, or the transcript it was made from."""
        return archived_transcript(self.workspace, log.session_id) or log.path


def open_log(parts: Components, session_id: str) -> SessionLog:
    """The log of one session of a workspace.

    Raises:
        BadInput: the id is empty or cannot name a file.
    """
    if not session_id:
        raise BadInput(session_id, "`session_id` is empty", "Name the conversation.")
    return parts.logs.log(session_id)


def pending_sessions(parts: Components) -> list[str]:
    """Sessions with logged turns that no distillation has read, sorted."""
    return parts.logs.waiting()
