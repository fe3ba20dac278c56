"""Journal calls: what was changed, by whom, and how to take it back."""

from __future__ import annotations

import asyncio
from typing import Final

from agentscope_reme.errors import BadInput
from agentscope_reme.facade.base import Calls
from agentscope_reme.results import ChangeRecord, ChangeResult, DiffResult, HistoryResult
from agentscope_reme.tools.change_results import not_searched
from agentscope_reme.tools.plain_arguments import plain_text, whole_number

_ENDED: Final = {
    "aborted": ["(never made)"],
    "prepared": ["(unfinished)"],
    "forgotten": ["(forgotten; cannot be undone)"],
}


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
        rows = [_show(change) for change in changes]
        return HistoryResult(answer="\n".join(rows) or "Nothing was changed yet.", changes=changes)

    async def diff(self, change_id: str) -> DiffResult:
        """A unified diff of one change.

        Raises:
            BadInput: the id is not text.
            NotFound: the journal knows no such change, or its pre-image has expired.
        """
        plain_text(change_id, "change_id")
        parts = await self._ready()
        text = await asyncio.to_thread(parts.vault.diff, change_id)
        return DiffResult(answer=text, change_id=change_id)

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
        paths = sorted(commit.hashes)
        unsearched = not_searched([path for path in paths if commit.hashes[path] is not None])
        return ChangeResult(
            answer=f"Undone: {change_id}. Restored: {', '.join(paths)}.{unsearched}",
            path=paths[0] if paths else "",
            change_id=commit.change_id,
            content_hash=commit.hashes[paths[0]] if paths else None,
            touched=paths,
            indexed=commit.indexed and not unsearched,
        )


def _show(change: ChangeRecord) -> str:
    columns = [change.change_id, change.at, change.actor, change.operation]
    return "  ".join([*columns, ", ".join(change.paths), *_ENDED.get(change.state, ())])
