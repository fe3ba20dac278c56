"""Journal calls: what was changed, by whom, and how to take it back."""

from __future__ import annotations

import asyncio

from agentscope_reme.facade.base import Calls
from agentscope_reme.results import ChangeRecord, ChangeResult, DiffResult, HistoryResult


class JournalCalls(Calls):
    """Every change of files, by people and by agents, can be listed, shown and undone."""

    async def history(self, path: str | None = None, limit: int = 50) -> HistoryResult:
        """Changes, newest first; of one path only when it is given."""
        parts = await self._ready()
        changes = await asyncio.to_thread(parts.vault.history, path, limit)
        rows = [_show(change) for change in changes]
        return HistoryResult(answer="\n".join(rows) or "Nothing was changed yet.", changes=changes)

    async def diff(self, change_id: str) -> DiffResult:
        """A unified diff of one change.

        Raises:
            NotFound: the journal knows no such change, or its pre-image has expired.
        """
        parts = await self._ready()
        text = await asyncio.to_thread(parts.vault.diff, change_id)
        return DiffResult(answer=text, change_id=change_id)

    async def undo(self, change_id: str) -> ChangeResult:
        """Put back what stood there before a change; itself a change that can be undone.

        Raises:
            NotFound: the journal knows no such change, or its pre-image has expired.
            Conflict: a file was changed again since; nothing is touched.
        """
        parts = await self._ready()
        commit = await asyncio.to_thread(parts.vault.undo, change_id, actor="user")
        self._engine.embed_soon()
        paths = sorted(commit.hashes)
        return ChangeResult(
            answer=f"Undone: {change_id}. Restored: {', '.join(paths)}.",
            path=paths[0] if paths else "",
            change_id=commit.change_id,
            content_hash=commit.hashes[paths[0]] if paths else None,
            touched=paths,
            indexed=commit.indexed,
        )


def _show(change: ChangeRecord) -> str:
    return f"{change.change_id}  {change.at}  {change.actor}  {change.operation}  " + ", ".join(
        change.paths
    )
