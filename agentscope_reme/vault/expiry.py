"""What is removed by itself: journal and trash older than their retention."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Final

from agentscope_reme.files.journal import Journal
from agentscope_reme.files.looking import names_in
from agentscope_reme.vault.applying import Applier
from agentscope_reme.vault.tree import Tree

_CHANGE_ID: Final = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{8}")


def expire(
    tree: Tree, journal: Journal, applier: Applier, *, now: datetime, retention_days: int
) -> int:
    """Remove months of the journal that lie wholly before the retention, and what only they kept.

    Called under the commit lock. A month stays as long as one of its days is within the retention.

    Args:
        now: the current instant.
        retention_days: how long changes can be undone, in days.

    Returns:
        How many journal files, blobs and trashed changes were removed.

    Raises:
        StorageFailed: something could not be removed; the rest goes next time.
    """
    removed = journal.drop_months_before(now - timedelta(days=retention_days))
    if not removed:
        return 0
    entries = list(journal.entries())
    named = {sha for e in entries for c in e.changes for sha in (c.before, c.after) if sha}
    for sha in journal.blobs() - named:
        journal.forget_blob(sha)
        removed += 1
    kept = {entry.change_id for entry in entries}
    trash = tree.workspace.trash
    for name in names_in(trash):
        if _CHANGE_ID.fullmatch(name) and name not in kept:
            applier.drop_trash(name)
            removed += 1
    return removed
