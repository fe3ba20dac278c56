"""One process's open index: catching up, transactions, and what happens when damage shows."""

from __future__ import annotations

import json
import logging
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final, TypeVar

from agentscope_reme.errors import Closed, ReMeError, StorageFailed
from agentscope_reme.files.locks import seconds_left
from agentscope_reme.store.contradiction import Contradiction
from agentscope_reme.store.database import INCOMPLETE, Database, ShadowDatabase
from agentscope_reme.store.index_schema import is_damage
from agentscope_reme.store.index_state import IndexState, read_number, write_number
from agentscope_reme.store.indexed_text import IndexedText
from agentscope_reme.store.open_marker import OpenMarker
from agentscope_reme.store.postings import Segment
from agentscope_reme.store.stored_vectors import StoredVectors

T = TypeVar("T")
_log: Final = logging.getLogger(__name__)
_LOOKS: Final = 5
"""How often a question is asked again while other processes write between its parts."""
_UNSEEN: Final = -1
"""No data version of SQLite: somebody may have committed since the index was last looked at."""
_WORTH_SEALING: Final = 200
"""Documents counted again at each open that make it worth writing a segment at close."""


class IndexSession:
    """The database and what of it is in memory, behind one lock.

    Every piece of work goes through `run`, which first looks whether another process committed.

    Args:
        database: the generation, not open yet.
        text: how terms are counted.
        marker: tells the next process that this one did not close; a shadow needs none.

    Attributes:
        incomplete: files are missing because the generation started empty.
        lock: held through every piece of work.
        on_lost: called when that is found while the index is in use; must not block or raise.
    """

    def __init__(
        self, database: Database, text: IndexedText, marker: OpenMarker | None = None
    ) -> None:
        self.database: Final = database
        self.state = IndexState(text)
        self.vectors = StoredVectors()
        self.marker: Final = marker
        self.incomplete = False
        self.on_lost: Callable[[], None] | None = None
        self._text = text
        self._vectors_version = 0
        self._data_version = 0
        self._is_open = False
        self.lock: Final = threading.RLock()

    @property
    def connection(self) -> sqlite3.Connection:
        """The open connection."""
        return self.database.connection

    def make_folders(self) -> None:
        """Make the folders an index needs."""
        with _storage_errors():
            self.database.generations.make_folders()

    def open(self) -> None:
        """Load or create the index; nothing when it is open."""
        with self.lock:
            if self._is_open:
                return
            with _storage_errors():
                self.database.open()
                self._is_open = True
                if self.marker is not None:
                    with self.database.generations.exclusive():
                        self.marker.set()
                self._trusted(self.load)

    def close(self) -> None:
        """Keep what the next open would have to count again, and release the files."""
        with self.lock:
            if not self._is_open:
                return
            try:
                if self.state.index.tail.live >= _WORTH_SEALING:
                    with suppress(StorageFailed):  # the next open counts again
                        self.run(self.seal)
            finally:
                self._is_open = False
                self.database.close()
                self._clear_marker()

    def _clear_marker(self) -> None:
        if self.marker is None:
            return
        try:
            with self.database.generations.exclusive():
                self.marker.clear()
        except StorageFailed:  # the workspace is gone, and its markers with it
            self.marker.clear()

    def run(self, work: Callable[[], T]) -> T:
        """Catch up, then work, under the lock; damage found on the way starts an empty index.

        Whoever is in a hurry does not wait for a thread that waits itself.
        """
        # No context managers here: every search and every look-up pays for them.
        if not self.lock.acquire(timeout=seconds_left(threading.TIMEOUT_MAX)):
            raise StorageFailed(
                "index", "another thread keeps it busy", "It is brought in step later."
            )
        try:
            if not self._is_open:
                raise Closed(repr(self), "the store is not open", "Call `open()` first.")

            def current() -> T:
                try:
                    self._catch_up()
                    return work()
                except BaseException:  # whatever it was, what is in memory is in doubt
                    self._data_version = _UNSEEN  # it may have stopped half-way
                    raise

            return self._trusted(current)
        except (sqlite3.Error, OSError) as error:
            raise _refused(error) from error
        finally:
            self.lock.release()

    def is_behind(self) -> bool:
        """Whether another process committed since the last look."""
        return self.database.data_version() != self._data_version

    def steady(self, look: Callable[[], T | None]) -> T | None:
        """Look again while what is found does not fit together because others write meanwhile.

        Returns:
            ``None`` only when it never fitted together; inside `run`.

        Raises:
            Contradiction: it does not fit together though nobody wrote.
        """
        for _ in range(_LOOKS):
            found = look()
            if found is not None:
                return found
            if not self.is_behind():
                raise Contradiction("the inverted lists name a chunk the database does not have")
            self._catch_up()
        return None

    def _trusted(self, work: Callable[[], T]) -> T:
        try:
            return work()
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            self._start_anew(error)
        except json.JSONDecodeError as error:  # nothing but stored rows is parsed in here
            self._start_anew(error)
        except ReMeError:
            raise
        except (LookupError, ValueError) as error:  # the index is all that is looked into here
            return self._read_anew(work, error)
        return work()

    def _read_anew(self, work: Callable[[], T], error: Exception) -> T:
        """Work once more with everything in memory read anew, or made anew if that is no help."""
        _log.warning("the index in memory contradicts the database and is read anew: %r", error)
        try:
            self.load()
            return work()
        except ReMeError:
            raise
        except Contradiction as on_disk:
            self._start_anew(on_disk)
            return work()
        except (LookupError, ValueError) as again:
            raise StorageFailed(
                "index",
                f"it contradicts itself: {again!r}",
                "Build it anew with `reindex()`; the files are safe.",
            ) from again

    def _start_anew(self, error: Exception) -> None:
        self.database.replace(str(error))
        self.load()
        self._tell_if_incomplete()

    def _tell_if_incomplete(self) -> None:
        if self.incomplete and self.on_lost is not None:
            self.on_lost()

    def load(self) -> None:
        """Read everything anew from the current generation."""
        connection = self.connection
        connection.execute("BEGIN")
        try:
            self._data_version = self.database.data_version()
            self.state = IndexState(self._text)
            self.state.load(connection)
            self.vectors.forget()
            self._vectors_version = read_number(connection, "vectors_version")
            self.incomplete = bool(read_number(connection, INCOMPLETE))
        finally:
            connection.execute("ROLLBACK")

    def _catch_up(self) -> None:
        if self.database.superseded():
            self.database.reopen()
            self.load()
            self._tell_if_incomplete()
            return
        version = self.database.data_version()
        if version == self._data_version:
            return
        own_transaction = not self.connection.in_transaction
        if own_transaction:
            self.connection.execute("BEGIN")
        try:
            self.state.catch_up(self.connection)
            self.vectors.chunks_changed()
            vectors_version = read_number(self.connection, "vectors_version")
            if vectors_version != self._vectors_version:
                self.vectors.forget()
                self._vectors_version = vectors_version
            self.incomplete = bool(read_number(self.connection, INCOMPLETE))
        finally:
            if own_transaction:
                self.connection.execute("ROLLBACK")
        self._data_version = version

    def write(self, work: Callable[[], T]) -> T:
        """Run `work` in a transaction that has seen every other one."""
        while True:
            with self.database.transaction():
                if not self.database.superseded():
                    self._catch_up()
                    self.database.own_up()
                    return work()
            self._catch_up()

    def seal(self, *, compact: bool = False) -> None:
        """Write the newest chunks' inverted lists, so that an open need not count terms again."""

        def save() -> tuple[list[Segment], dict[int, Segment]]:
            index = self.state.index
            segments = index.compacted() if compact else index.sealed()
            rows = self.state.segments.save(self.connection, segments)
            next_slot = read_number(self.connection, "next_slot")
            write_number(self.connection, "sealed_slot", next_slot)
            return segments, rows

        segments, rows = self.write(save)
        self.state.index.settle(segments)
        self.state.segments.settle(rows)

    def settle(self, generation: str) -> None:
        """Know that every file was brought in, and that what a crash left unsure was compared."""
        if self.database.name != generation:
            return

        def complete() -> None:
            write_number(self.connection, INCOMPLETE, 0)

        if self.incomplete:
            self.write(complete)
            self.incomplete = False
        if self.marker is not None and self.marker.unclean:
            with self.database.generations.exclusive():
                self.marker.forgive()

    @contextmanager
    def held(self) -> Iterator[sqlite3.Connection]:
        """A transaction that changes nothing and lets nobody else change anything, either."""
        with self.lock, _storage_errors(), self.database.transaction() as connection:
            yield connection

    def take_over(self, shadow: IndexSession, database: ShadowDatabase) -> None:
        """Go on with a shadow that became current; called while nobody else is at work here."""
        with self.lock, shadow.lock, _storage_errors():
            self.state, self.vectors = shadow.state, shadow.vectors
            self._vectors_version = read_number(database.connection, "vectors_version")
            self.vectors.forget()
            shadow._is_open = False
            self.database.take_over(database)
            self._data_version = _UNSEEN
            self.incomplete = False

    def know_vectors(self) -> None:
        """The vectors written in this transaction are the ones in memory."""
        self._vectors_version = read_number(self.connection, "vectors_version")


@contextmanager
def _storage_errors() -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise _refused(error) from error


def _refused(error: Exception) -> StorageFailed:
    return StorageFailed(
        "index", f"the index database refused: {error}", "Check free space and permissions."
    )
