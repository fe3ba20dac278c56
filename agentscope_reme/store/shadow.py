"""A new index built beside the one in use, and the moment it takes its place.

Nothing written meanwhile is lost. The index in use numbers its changes, so the builder knows what
it missed; the last of it is brought in while a write lock on the old generation keeps every other
writer waiting. A writer that waited finds its generation replaced and writes to the new one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Final

from agentscope_reme.store.base import BaseFileStore, ShadowIndex
from agentscope_reme.store.database import ShadowDatabase
from agentscope_reme.store.index_session import IndexSession
from agentscope_reme.store.index_state import latest_revision


class LocalShadow(ShadowIndex):
    """The next generation of a `LocalFileStore`.

    Args:
        store: writes into the new generation.
        current: the index in use.
        building: the session behind `store`.
        database: the new generation.
    """

    def __init__(
        self,
        store: BaseFileStore,
        current: IndexSession,
        building: IndexSession,
        database: ShadowDatabase,
    ) -> None:
        self.store = store
        self._current: Final = current
        self._building: Final = building
        self._database: Final = database
        self._position = current.run(self._now)

    def missed(self) -> list[str] | None:
        """Paths that changed in the index in use since the last call."""

        def look() -> list[str] | None:
            found = self._changed(self._current.connection)
            self._position = self._now()
            return found

        return self._current.run(look)

    def ready(self) -> None:
        """Write the inverted lists, copy the vectors and flush, while others go on working."""
        self._building.run(self._building.seal)
        self._building.run(lambda: self._database.carry_vectors(self._current.database))
        self._building.run(self._database.fold)

    def take_over(self, catch_up: Callable[[list[str]], object]) -> bool:
        """Replace the index in use, in every process."""
        self._current.run(lambda: None)
        with self._current.lock:
            with self._current.held() as connection:
                missed = self._changed(connection)
                if missed is None:
                    return False
                if missed:
                    catch_up(missed)
                self._building.run(lambda: self._database.carry_vectors(self._current.database))
                self._database.become_current()
            self._current.take_over(self._building, self._database)
        return True

    def close(self) -> None:
        """Leave it as it is; after `take_over` there is nothing left to close."""
        self._building.close()

    def _now(self) -> tuple[str, int]:
        return self._current.database.name, latest_revision(self._current.connection)

    def _changed(self, connection: sqlite3.Connection) -> list[str] | None:
        generation, revision = self._position
        if generation != self._current.database.name:
            return None
        oldest = connection.execute("SELECT MIN(rev) FROM changes").fetchone()[0]
        if latest_revision(connection) > revision and (oldest is None or oldest > revision + 1):
            return None
        rows = connection.execute("SELECT DISTINCT path FROM changes WHERE rev > ?", (revision,))
        return [row[0] for row in rows]
