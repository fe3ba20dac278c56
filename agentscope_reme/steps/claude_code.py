"""Auto Memory for Claude Code: its transcript becomes a session log, then a daily card."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from agentscope_reme.files.transcripts import TranscriptArchive, find_transcript, logged_as
from agentscope_reme.messages import Message
from agentscope_reme.results import AutoMemoryResult
from agentscope_reme.steps.base import Ref
from agentscope_reme.steps.distil import DistilStep
from agentscope_reme.steps.record import RecordStep
from agentscope_reme.steps.session import SessionStep


class ClaudeCodeArguments(BaseModel):
    """What the step reads from its run; see `ReMe.auto_memory_cc`."""

    model_config = ConfigDict(frozen=True)

    session_id: str
    hint: str = ""
    projects_dir: Path | None = None


class ClaudeCodeMemoryStep(SessionStep[AutoMemoryResult]):
    """Takes over what is new of one transcript and distils it.

    First the raw rows are archived, then what was said is logged, then a model is asked. Each step
    finds by itself what the one before it did and a crash kept from it: the archive knows its
    rows by ``uuid``, the log its turns by the same ids, and the log's cursor says what no model
    has read. So the log of ``claude_code/<id>`` is pending like any other until it is distilled.
    """

    disk = Ref(lambda parts: parts.disk)
    failures = Ref(lambda parts: parts.failures)
    record = RecordStep()
    distil = DistilStep()

    async def execute(self) -> AutoMemoryResult:
        """Take over the transcript of the run's session; each day it spans has its own card.

        Raises:
            BadInput: the session id is not the name of a transcript.
            NotFound: there is no transcript, and none was archived before.
            StorageFailed: the archive or the log could not be written.
        """
        arguments = self.context.parse(ClaudeCodeArguments)
        said = await asyncio.to_thread(self._take, arguments)
        logged_id = logged_as(arguments.session_id)
        if said:
            await self.record(self.context, session_id=logged_id, messages=said)
        return await self.distil(self.context, session_id=logged_id, recorded_ids=frozenset())

    def _take(self, arguments: ClaudeCodeArguments) -> tuple[Message, ...]:
        archive = TranscriptArchive(
            self.workspace, arguments.session_id, disk=self.disk, locks=self.locks
        )
        transcript = find_transcript(arguments.session_id, arguments.projects_dir)
        logged = self.log_of(logged_as(arguments.session_id)).known_ids()
        taken = archive.take(transcript, logged)
        for error in taken.refused:
            self.failures.report("auto_memory_cc", error)
        return tuple(taken.unlogged)
