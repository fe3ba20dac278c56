"""Writes an index anew so that nothing of what was deleted from it stays on the disk.

Deleting a row only unlinks it: its bytes stay in free pages, in the write-ahead log, in inverted
lists that are merely marked, and in generations that were set aside.
"""

from __future__ import annotations

from typing import Final

from agentscope_reme.errors import StorageFailed
from agentscope_reme.store.index_session import IndexSession
from agentscope_reme.store.index_state import latest_revision
from agentscope_reme.store.vector_spaces import TABLES

_NEUTRAL_PATH: Final = ""
_PATIENCE_MS: Final = 500
"""How long a reader is waited for: the commit lock is held meanwhile."""


def erase_deleted(session: IndexSession) -> None:
    """Drop what no file has any more, then write the database anew. Inside `IndexSession.run`.

    Raises:
        sqlite3.Error: another process kept the database busy.
        StorageFailed: another process kept the write-ahead log.
    """
    session.seal(compact=True)
    session.write(lambda: _drop_leftovers(session))
    session.state.revision = latest_revision(session.connection)
    connection = session.connection
    connection.execute("PRAGMA temp_store = MEMORY")  # SQLite would copy it to a temporary folder
    connection.execute("VACUUM")
    _empty_log(session)
    database = session.database
    with database.generations.exclusive():
        database.generations.drop_others(database.name)


def _drop_leftovers(session: IndexSession) -> None:
    connection = session.connection
    for table in TABLES.values():
        connection.execute(
            f"DELETE FROM {table} WHERE text_hash NOT IN (SELECT text_hash FROM chunks)"
        )
    connection.execute("DELETE FROM changes")
    # Others see that their last revision is not the one before this, and read everything anew.
    connection.executemany(
        "INSERT INTO changes (path, op) VALUES (?, 'erase')", [(_NEUTRAL_PATH,), (_NEUTRAL_PATH,)]
    )
    connection.execute("DELETE FROM changes WHERE rev < (SELECT MAX(rev) FROM changes)")
    session.vectors.forget()


def _empty_log(session: IndexSession) -> None:
    session.connection.execute(f"PRAGMA busy_timeout = {_PATIENCE_MS}")
    busy, *_ = session.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if not busy:
        return
    raise StorageFailed(
        session.database.name,
        "another process reads the index and keeps its log",
        "The next change tries again.",
    )
