"""Record: turns become durable lines of the session log before any model is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from agentscope_reme.errors import ReMeError
from agentscope_reme.files.session_log import Appended, SessionLog
from agentscope_reme.messages import Message, without_recalled
from agentscope_reme.results import RecordResult
from agentscope_reme.steps.base import Ref
from agentscope_reme.steps.images import prepare_whatever_is_given, save_images
from agentscope_reme.steps.session import SessionStep


class RecordArguments(BaseModel):
    """What a recording reads from its run."""

    model_config = ConfigDict(frozen=True)

    session_id: str
    messages: tuple[Message, ...]
    keep_images: bool = False
    """Save the originals of all images, as far as they can be saved."""


class RecordStep(SessionStep[RecordResult]):
    """Appends turns to ``session/dialog/`` and indexes them.

    Idempotent: a turn that is already logged is not stored twice. Recalled memory is taken out
    first. When this returns, the lines are on the device, and the images they name before them.
    The ids of the given turns are left in the run as ``recorded_ids``.
    """

    failures = Ref(lambda parts: parts.failures)

    async def execute(self) -> RecordResult:
        """Record the messages of the run.

        Raises:
            BadInput: the session id is missing or cannot name a file.
            StorageFailed: the log could not be written, and nothing was acknowledged; or an image
                could not be saved: then the words are safe, and the images are to be sent again.
        """
        return await asyncio.to_thread(self._record, self.context.parse(RecordArguments))

    def _record(self, arguments: RecordArguments) -> RecordResult:
        log = self.log_of(arguments.session_id)
        turns = None
        if arguments.keep_images:
            turns = prepare_whatever_is_given(arguments.messages, log)
        if turns is None:
            return self._append(log, _said(arguments.messages))
        for fault in turns.faults:
            self.failures.report("images", fault)
        try:
            save_images(self.vault, turns.files)
        except ReMeError:
            self._append(log, _said(arguments.messages))  # words do not wait for images
            raise
        return self._append(log, turns.messages)

    def _append(self, log: SessionLog, messages: Sequence[Message]) -> RecordResult:
        appended = log.append(messages)
        fresh = bool(appended.appended or appended.superseded)
        path = log.path
        if fresh:
            self.vault.log_changed(path, appended.written)
        self.context.values["recorded_ids"] = frozenset(appended.ids)
        return RecordResult(
            answer=_told(appended, path),
            session_path=path,
            appended=appended.appended,
            duplicates=appended.duplicates,
            pending=fresh,
        )


def _told(appended: Appended, path: str) -> str:
    changed = f", {appended.superseded} corrected" if appended.superseded else ""
    return f"{appended.appended} turn(s) saved to {path}{changed}."


def _said(messages: Sequence[Message]) -> list[Message]:
    return [kept for message in messages if (kept := without_recalled(message)) is not None]
