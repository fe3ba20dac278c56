"""What a store holds, in numbers."""

from __future__ import annotations

import json
import sqlite3

from agentscope_reme.files.pins import PIN_KEY, says_pinned
from agentscope_reme.store.index_session import IndexSession
from agentscope_reme.store.records import StoreStats
from agentscope_reme.store.stored_vectors import count_vectors


def count_everything(session: IndexSession) -> StoreStats:
    """The counts of an open index; called as a piece of its work."""
    connection = session.connection
    vectors, pending = count_vectors(connection)
    links, tags, chunks = connection.execute(
        "SELECT (SELECT COUNT(*) FROM links), (SELECT COUNT(DISTINCT tag) FROM tags), "
        "(SELECT COUNT(*) FROM chunks)"
    ).fetchone()
    return StoreStats(
        files=len(session.state.files),
        chunks=chunks,
        links=links,
        tags=tags,
        vectors=vectors,
        vectors_pending=pending,
        revision=session.state.revision,
        bytes_on_disk=session.database.bytes_on_disk(),
        notices=tuple(session.database.notices),
        pinned=_count_pinned(connection),
    )


def _count_pinned(connection: sqlite3.Connection) -> int:
    """Files whose front matter says that automation leaves them alone."""
    mentioning = "WHERE front_matter LIKE ?"
    rows = connection.execute(
        f"SELECT front_matter FROM files {mentioning}", (f'%"{PIN_KEY}"%',)
    ).fetchall()
    return sum(says_pinned(json.loads(front_matter)) for (front_matter,) in rows)
