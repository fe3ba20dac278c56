"""Archive: what leaves a context window is kept in full, and is found again."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from pydantic import BaseModel, ConfigDict

from agentscope_reme.files.archived import Archived, whole_id
from agentscope_reme.files.session_log import SessionLog
from agentscope_reme.messages import Message
from agentscope_reme.results import RecordResult
from agentscope_reme.steps.base import Ref
from agentscope_reme.steps.session import SessionStep


class ArchiveArguments(BaseModel):
    """What an archiving reads from its run."""

    model_config = ConfigDict(frozen=True)

    session_id: str
    messages: tuple[Message, ...]
    memory_tools: frozenset[str] = frozenset()
    """Names of tools whose answers are recalled memory: kept, and not searched."""


class ArchiveStep(SessionStep[RecordResult]):
    """Appends messages, tool results included, to ``session/agentscope/``; the index follows.

    Words that are in the session's log as well are searched there, once. So record first. A
    message the log was told to forget is not archived.
    """

    reads_index = False
    logs = Ref(lambda parts: parts.logs)
    log_indexing = Ref(lambda parts: parts.log_indexing)

    async def execute(self) -> RecordResult:
        """Archive the messages of the run.

        Raises:
            BadInput: the session id is missing or cannot name a file.
            StorageFailed: the archive is as it was.
        """
        arguments = self.context.parse(ArchiveArguments)
        return await asyncio.to_thread(self._archive, arguments, asyncio.get_running_loop())

    def _archive(
        self, arguments: ArchiveArguments, loop: asyncio.AbstractEventLoop
    ) -> RecordResult:
        log = self.log_of(arguments.session_id)
        archive = self.logs.archive(arguments.session_id)
        kept = archive.append([*_noted(arguments, log)])
        path = archive.path
        if kept.written is not None or kept.appended or kept.superseded:
            loop.call_soon_threadsafe(self.log_indexing.soon, path, kept.written)
        return RecordResult(
            answer=f"{kept.appended} message(s) kept in {path}.",
            session_path=path,
            appended=kept.appended,
            duplicates=kept.duplicates,
        )


def _noted(arguments: ArchiveArguments, log: SessionLog) -> Iterator[Message]:
    known = log.known_ids()
    wholes = {*known, *map(whole_id, known)}
    for message in arguments.messages:
        ids = {message.id, whole_id(message.id)} if message.id else set()
        if any(log.is_forgotten(one) for one in ids):
            continue
        logged = not ids.isdisjoint(wholes)
        yield Archived.of(message, logged=logged, memory_tools=arguments.memory_tools)
