"""Record: turns become durable lines of the session log before any model is asked."""

from __future__ import annotations

import asyncio

from pydantic import BaseModel, ConfigDict

from agentscope_reme.messages import Message, without_recalled
from agentscope_reme.results import RecordResult
from agentscope_reme.steps.session import SessionStep


class RecordArguments(BaseModel):
    """What a recording reads from its run."""

    model_config = ConfigDict(frozen=True)

    session_id: str
    messages: tuple[Message, ...]


class RecordStep(SessionStep[RecordResult]):
    """Appends turns to ``session/dialog/`` and indexes them.

    Idempotent: a turn that is already logged is not stored twice. Recalled memory is taken out
    first. When this returns, the lines are on the device. The ids of the given turns are left in
    the run as ``recorded_ids``.
    """

    async def execute(self) -> RecordResult:
        """Record the messages of the run.

        Raises:
            BadInput: the session id is missing or cannot name a file.
            StorageFailed: the log could not be written; nothing was acknowledged.
        """
        arguments = self.context.parse(RecordArguments)
        kept = [kept for m in arguments.messages if (kept := without_recalled(m)) is not None]
        return await asyncio.to_thread(self._append, arguments.session_id, kept)

    def _append(self, session_id: str, messages: list[Message]) -> RecordResult:
        log = self.log_of(session_id)
        appended = log.append(messages)
        fresh = bool(appended.appended or appended.superseded)
        path = log.path
        if fresh:
            self.vault.log_changed(path, appended.written)
        self.context.values["recorded_ids"] = frozenset(appended.ids)
        return RecordResult(
            answer=f"{appended.appended} turn(s) saved to {path}.",
            session_path=path,
            appended=appended.appended,
            duplicates=appended.duplicates,
            pending=fresh,
        )
