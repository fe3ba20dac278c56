"""Brings a foreign memory in: turns through `ReMe.record`, files through the vault."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator, Sequence
from typing import Final

from pydantic import Field

from agentscope_reme.errors import BadInput, Conflict, NotFound
from agentscope_reme.files.changes import Write
from agentscope_reme.files.pins import PERSON
from agentscope_reme.progress import report_progress
from agentscope_reme.reme import ReMe
from agentscope_reme.results import Failure, Result
from agentscope_reme.steps import BaseStep, Ref
from agentscope_reme.steps.session import SessionStep
from agentscope_reme.transfer.formats import AUTO, format_of
from agentscope_reme.transfer.found import Conversation, Found, Note, printable
from agentscope_reme.transfer.sources import open_source

_BATCH_FILES: Final = 100
_BATCH_BYTES: Final = 16 * 1024**2
_SHOWN: Final = 5
_CARD: Final = re.compile(r"daily/(\d{4}-\d{2}-\d{2})/")
_ATTEMPTS: Final = 5


class ImportResult(Result):
    """What was brought in.

    Attributes:
        format: how the source was read.
        conversations: conversations with new turns in them.
        turns: turns that are new.
        duplicates: turns that were there already.
        files: files that are new.
        kept: files of the workspace that say something else and were left as they are.
        links_resolved: links of a vault that lead to a file that came along.
        links_unresolved: links that lead nowhere.
        links_ambiguous: links several files fit, and the one that was taken.
        change_ids: what `undo` takes the files back with.
        days: days that got cards; each has its index page.
        failed: what could not be brought in.
    """

    format: str = ""
    conversations: int = 0
    turns: int = 0
    duplicates: int = 0
    files: int = 0
    kept: list[str] = Field(default_factory=list)
    links_resolved: int = 0
    links_unresolved: list[str] = Field(default_factory=list)
    links_ambiguous: list[str] = Field(default_factory=list)
    change_ids: list[str] = Field(default_factory=list)
    days: list[str] = Field(default_factory=list)
    failed: list[Failure] = Field(default_factory=list)


async def import_memory(
    reme: ReMe,
    source: str | os.PathLike[str],
    *,
    format: str = AUTO,  # noqa: A002 - as it is written on the command line
    into: str = "",
    only_user: str = "",
) -> ImportResult:
    """Bring a foreign memory into this one.

    Conversations become session logs with their own dates and wait to be distilled; nothing asks
    a model. Calling it again, also after it was interrupted, adds only what is missing. A file
    that says something else than the one to be brought in is left as it is.

    Args:
        reme: the memory it goes into.
        source: a folder, a ZIP archive or a file.
        format: one of `transfer.formats.FORMATS`; ``auto`` looks.
        into: the folder for the notes of a vault; ``digest/wiki/<its name>`` without it.
        only_user: whose memories are meant, where a source holds those of several people.

    Raises:
        BadInput: the source or an argument is not usable; nothing was changed.
        StorageFailed: the disk refused; what was brought in stays.
    """
    await reme.start()
    with await asyncio.to_thread(open_source, source) as opened:
        known = await asyncio.to_thread(format_of, opened, format)
        target = _target(reme, into) if into else ""
        found = await asyncio.to_thread(known.find, opened, target, only_user)
        result = ImportResult(format=known.name)
        await _notes(reme, found, result)
        await _conversations(reme, found, result)
        result.failed += found.failed
    return _told(result, found)


def _target(reme: ReMe, into: str) -> str:
    target = reme.workspace.normalise(into, what="into")
    if target.split("/")[0].casefold() == "session":
        raise BadInput(into, "session logs stand there", "Choose a folder below `digest/`.")
    return target


async def _notes(reme: ReMe, found: Found, result: ImportResult) -> None:
    done = 0
    while batch := await asyncio.to_thread(_batch, found.notes):
        report_progress(done, found.note_count, "files")
        await _NotesStep()(reme.application, notes=batch, result=result)
        done += len(batch)
    if done:
        report_progress(done, done, "files")
    for day in result.days:
        if not (reme.workspace.root / "daily" / f"{day}.md").exists():
            await reme.daily_reindex(day)
    if found.links is not None:
        result.links_resolved = found.links.resolved
        result.links_unresolved = sorted(found.links.unresolved)
        result.links_ambiguous = sorted(found.links.ambiguous)


async def _conversations(reme: ReMe, found: Found, result: ImportResult) -> None:
    done = 0
    while True:
        conversation = await asyncio.to_thread(next, found.conversations, None)
        if conversation is None:
            break
        report_progress(done, found.conversation_count, "conversations")
        done += 1
        try:
            await _take(reme, conversation, result)
        except BadInput as error:  # this one only; a disk that refuses ends the import
            result.failed.append(Failure(item=conversation.session_id, reason=str(error)))
    if done:
        report_progress(done, done, "conversations")


async def _take(reme: ReMe, conversation: Conversation, result: ImportResult) -> None:
    recorded = await reme.record(conversation.session_id, conversation.messages, distil=False)
    result.turns += recorded.appended
    result.duplicates += recorded.duplicates
    result.conversations += recorded.appended > 0
    if conversation.card is not None:
        await _DistilledStep()(
            reme.application, session_id=conversation.session_id, card=conversation.card
        )


class _NotesStep(BaseStep[Result]):
    """Puts the files of one batch in their places, as one change."""

    vault = Ref(lambda parts: parts.vault)
    workspace = Ref(lambda parts: parts.workspace)

    async def execute(self) -> Result:
        """Write what is new.

        Raises:
            StorageFailed: nothing of the batch was written.
        """
        values = self.context.values
        await asyncio.to_thread(self._write, values["notes"], values["result"])
        return Result()

    def _write(
        self, notes: Sequence[Note], result: ImportResult, attempts: int = _ATTEMPTS
    ) -> None:
        wanted = [note for note in notes if self._is_new(note, result)]
        if not wanted:
            return
        changes = [Write(note.path, note.data, expected=None) for note in wanted]
        try:
            commit = self.vault.commit(changes, actor=PERSON, operation="import")
        except Conflict:  # somebody put one there since the look, another import perhaps
            if attempts == 1:
                raise
            self._write(wanted, result, attempts - 1)
            return
        result.files += len(wanted)
        days = {day[1] for note in wanted if (day := _CARD.match(note.path))}
        result.days = sorted(days.union(result.days))
        result.change_ids.append(commit.change_id)

    def _is_new(self, note: Note, result: ImportResult) -> bool:
        try:
            path = self.workspace.normalise(note.path)
            self._refuse_clash(path)
            there = self.vault.read(path)
        except NotFound:
            return True
        except BadInput as error:
            result.failed.append(Failure(item=printable(note.path), reason=str(error)))
            return False
        if there != note.data:
            result.kept.append(note.path)
        return False

    def _refuse_clash(self, path: str) -> None:
        """Refuse a file where a folder stands, and a folder where a file does."""
        place = self.workspace.locate(path)
        above = [one for one in place.parents if one.is_relative_to(self.workspace.root)]
        if place.is_dir() or any(one.exists() and not one.is_dir() for one in above):
            raise BadInput(path, "a file or folder stands in its way", "Pass another into=.")


class _DistilledStep(SessionStep[Result]):
    """Notes that the card of a session came along with it."""

    async def execute(self) -> Result:
        """Pass the turns of the session by, if its card is there.

        Raises:
            StorageFailed: the log is as it was.
        """
        values = self.context.values
        await asyncio.to_thread(self._pass_by, values["session_id"], values["card"])
        return Result()

    def _pass_by(self, session_id: str, card: str) -> None:
        log = self.log_of(session_id)
        pending = log.pending()
        if not pending or log.distilled() or not (self.workspace.root / card).is_file():
            return
        written = log.mark_distilled(pending[-1].id, card=card)
        self.vault.log_changed(log.path, written)


def _batch(notes: Iterator[Note]) -> list[Note]:
    """The next notes, as many as make one change; none when there are no more."""
    batch: list[Note] = []
    for note in notes:
        batch.append(note)
        if len(batch) >= _BATCH_FILES or sum(len(n.data) for n in batch) >= _BATCH_BYTES:
            break
    return batch


def _told(result: ImportResult, found: Found) -> ImportResult:
    told = [f"{result.format}: {_counted(result, found)}."]
    if result.turns:
        told.append("`auto_memory` distils them.")
    if result.kept:
        told.append(f"Left as they are, because they say something else: {_some(result.kept)}.")
    if found.links is not None:
        told.append(
            f"{result.links_resolved} link(s) lead to a file, {len(result.links_unresolved)} "
            f"nowhere, {len(result.links_ambiguous)} to one of several."
        )
        told += [f"Nowhere: {_some(result.links_unresolved)}."] * bool(result.links_unresolved)
    told += found.remarks
    if result.failed:
        told.append(f"Failed: {_some([f'{one.item} ({one.reason})' for one in result.failed])}.")
    return result.model_copy(update={"success": not result.failed, "answer": " ".join(told)})


def _counted(result: ImportResult, found: Found) -> str:
    counts = []
    if found.conversation_count:
        counts.append(
            f"{result.turns} new turn(s) in {result.conversations} conversation(s), "
            f"{result.duplicates} turn(s) were there already"
        )
    if found.note_count:
        counts.append(f"{result.files} new file(s) of {found.note_count}")
    return "; ".join(counts) or "nothing to bring in"


def _some(items: Sequence[str]) -> str:
    more = f", and {len(items) - _SHOWN} more" if len(items) > _SHOWN else ""
    return ", ".join(items[:_SHOWN]) + more
