"""Journal calls: what was changed, by whom, and how to take it back."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from agentscope_reme.errors import BadInput
from agentscope_reme.facade.base import Calls
from agentscope_reme.results import ChangeRecord, ChangeResult, DiffResult, HistoryResult
from agentscope_reme.tools.answer_limit import capped, capped_lines, named
from agentscope_reme.tools.change_results import not_searched
from agentscope_reme.tools.plain_arguments import plain_text, whole_number

_ENDED: Final = {
    "aborted": ["(never made)"],
    "prepared": ["(unfinished)"],
    "forgotten": ["(forgotten; cannot be undone)"],
}
_WHOLE_DIFF: Final = "`read` the files, or raise `tool_answer_bytes` to see all of it."


class JournalCalls(Calls):
    """Every change of files, by people and by agents, can be listed, shown and undone."""

    async def history(self, path: str | None = None, limit: int = 50) -> HistoryResult:
        """Changes, newest first; of one path only when it is given.

        Raises:
            BadInput: `limit` is not a number of at least 1, or the path is unsafe.
        """
        if whole_number(limit, "limit") < 1:
            raise BadInput(limit, "`limit` must be at least 1", "Leave it out for 50.")
        parts = await self._ready()
        changes = await asyncio.to_thread(parts.vault.history, path, limit)
        most = parts.settings.tool_answer_bytes
        rows = [_show(change) for change in changes]
        answer, _ = capped_lines(rows, most, "Name a path, or ask for fewer with `limit`.")
        return HistoryResult(answer=answer or "Nothing was changed yet.", changes=changes)

    async def diff(self, change_id: str) -> DiffResult:
        """A unified diff of one change.

        Raises:
            BadInput: the id is not text.
            NotFound: the journal knows no such change, or its pre-image has expired.
        """
        plain_text(change_id, "change_id")
        parts = await self._ready()
        text = await asyncio.to_thread(parts.vault.diff, change_id)
        most = parts.settings.tool_answer_bytes
        return DiffResult(answer=capped(text, most, _WHOLE_DIFF), change_id=change_id)

    async def undo(self, change_id: str) -> ChangeResult:
        """Put back what stood there before a change; itself a change that can be undone.

        Raises:
            BadInput: the id is not text.
            NotFound: the journal knows no such change, or its pre-image has expired.
            Conflict: a file was changed again since; nothing is touched.
        """
        plain_text(change_id, "change_id")
        parts = await self._ready()
        commit = await asyncio.to_thread(parts.vault.undo, change_id, actor="user")
        self._engine.embed_soon()
        back = sorted(path for path, sha in commit.hashes.items() if sha is not None)
        gone = sorted(commit.hashes.keys() - set(back))
        unsearched = not_searched(back)
        first = next(iter([*back, *gone]), "")
        told = _told("Restored", back) + _told("Gone", gone)
        return ChangeResult(
            answer=f"Undone: {change_id}.{told}{unsearched}",
            path=first,
            change_id=commit.change_id,
            content_hash=commit.hashes.get(first),
            touched=sorted(commit.hashes),
            indexed=commit.indexed and not unsearched,
        )


def _told(what: str, paths: Sequence[str]) -> str:
    return f" {what}: {named(paths)}." if paths else ""


def _show(change: ChangeRecord) -> str:
    columns = [change.change_id, change.at, change.actor, change.operation]
    return "  ".join([*columns, named(change.paths), *_ENDED.get(change.state, ())])
