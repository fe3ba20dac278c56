"""Record: turns become durable lines of the session log before any model is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

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
    """Appends turns to ``session/dialog/``, and lets the index follow.

    Idempotent: a turn that is already logged is not stored twice. Recalled memory is taken out
    first. When this returns, the lines are on the device, and the images they name before them;
    every later step that reads the index waits until it shows them.
    The ids of the given turns are left in the run as ``recorded_ids``.
    """

    reads_index = False
    failures = Ref(lambda parts: parts.failures)
    log_indexing = Ref(lambda parts: parts.log_indexing)

    async def execute(self) -> RecordResult:
        """Record the messages of the run.

        Raises:
            BadInput: the session id is missing or cannot name a file.
            StorageFailed: the log could not be written, and nothing was acknowledged; or an image
                could not be saved: then the words are safe, and the images are to be sent again.
        """
        arguments = self.context.parse(RecordArguments)
        return await asyncio.to_thread(self._record, arguments, asyncio.get_running_loop())

    def _record(self, arguments: RecordArguments, loop: asyncio.AbstractEventLoop) -> RecordResult:
        log = self.log_of(arguments.session_id)
        append = partial(self._append, log, loop)
        turns = None
        if arguments.keep_images:
            turns = prepare_whatever_is_given(arguments.messages, log)
        if turns is None:
            return append(_said(arguments.messages))
        for fault in turns.faults:
            self.failures.report("images", fault)
        try:
            save_images(self.vault, turns.files)
        except ReMeError:
            append(_said(arguments.messages))  # words do not wait for images
            raise
        return append(turns.messages)

    def _append(
        self, log: SessionLog, loop: asyncio.AbstractEventLoop, messages: Sequence[Message]
    ) -> RecordResult:
        appended = log.append(messages)
        fresh = bool(appended.appended or appended.superseded)
        path = log.path
        if fresh:  # from here, for the call that waits may have been cancelled
            loop.call_soon_threadsafe(self.log_indexing.soon, path, appended.written)
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
