"""The SQLite file of the local store: its tables, its transactions, and what if it breaks.

Nothing can be made anew from elsewhere, so a commit returns once the write-ahead log is on the disk
(``synchronous = FULL``), a damaged file is set aside and never overwritten, what can still be read
of it is brought over, and what is deleted is overwritten with zeros (``secure_delete``).
"""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from agentscope_reme.errors import StorageFailed
from agentscope_reme.files.disk import Disk
from agentscope_reme.files.file_lock import FileLock
from agentscope_reme.store.index_schema import is_damage
from agentscope_reme.typed.stores.checks import not_open
from agentscope_reme.typed.stores.set_aside import Salvage, SetAside

_log = logging.getLogger("agentscope_reme")

FILE_NAME: Final = "memories.db"
SCHEMA_VERSION: Final = 1
NODE_BITS: Final = 40
"""The key of a vector is the number of its space, then that of its node in these bits."""

Bringing = Callable[[sqlite3.Connection, Path], Salvage]

_BUSY_SECONDS: Final = 10.0
_PATIENCE_SECONDS: Final = 300.0
"""Others may be bringing over a large file; that takes seconds."""
_PAGE_BYTES: Final = 4096
_WAL_LIMIT_BYTES: Final = 8 * 1024 * 1024
_SCHEMA: Final = f"""
CREATE TABLE nodes (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    memory_id TEXT NOT NULL UNIQUE,
    memory_type TEXT NOT NULL,
    memory_target TEXT NOT NULL,
    when_to_use TEXT NOT NULL,
    content TEXT NOT NULL,
    message_time TEXT NOT NULL,
    ref_memory_id TEXT NOT NULL,
    time_created TEXT NOT NULL,
    time_modified TEXT NOT NULL,
    author TEXT NOT NULL,
    score REAL NOT NULL,
    metadata TEXT NOT NULL
);
CREATE INDEX nodes_of_target ON nodes (memory_target, memory_type);
CREATE TABLE spaces (
    number INTEGER PRIMARY KEY,
    space_id TEXT NOT NULL UNIQUE,
    width INTEGER NOT NULL,
    vectors INTEGER NOT NULL DEFAULT 0,
    written INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE vectors (key INTEGER PRIMARY KEY, vector BLOB NOT NULL);
CREATE TRIGGER vector_added AFTER INSERT ON vectors BEGIN
    UPDATE spaces SET vectors = vectors + 1 WHERE number = NEW.key >> {NODE_BITS};
END;
CREATE TRIGGER vector_removed AFTER DELETE ON vectors BEGIN
    UPDATE spaces SET vectors = vectors - 1 WHERE number = OLD.key >> {NODE_BITS};
END;
CREATE TABLE changes (revision INTEGER PRIMARY KEY AUTOINCREMENT, node INTEGER NOT NULL);
PRAGMA user_version = {SCHEMA_VERSION};
"""


class LocalDatabase:
    """One connection to the file. Its owner serialises the calls.

    Args:
        folder: where ``memories.db`` stands; made when missing.
    """

    def __init__(self, folder: Path) -> None:
        self.place: Final = folder / FILE_NAME
        self._disk: Final = Disk()
        self._aside: Final = SetAside(self.place, self._disk)
        self._connection: sqlite3.Connection | None = None
        self._identity: tuple[int, int] | None = None
        self._scrub_due = False

    def open(self, salvage: Bringing) -> None:
        """Open the file, or make it. One process at a time: others wait for what is brought over.

        Args:
            salvage: brings over into a new file what can be read of a damaged one.

        Raises:
            StorageFailed: the disk refused, or others opened it all the time.
        """
        if self._connection is not None:
            return
        with self._told():
            self._disk.make_folder(self.place.parent)
            with self._alone():
                self._aside.finish()
                try:
                    self._connect()
                except sqlite3.DatabaseError as error:
                    if not is_damage(error):
                        raise
                    _log.warning("%s is damaged (%s) and set aside.", self.place, error)
                    self._aside.move()
                    self._suspect.unlink(missing_ok=True)
                    self._connect()
                self._bring_over(salvage)

    def _connect(self) -> None:
        created = not self.place.exists()
        try:
            self._connection = _connect(self.place)
            self._prepare()
        except (sqlite3.Error, StorageFailed):
            self.close()
            raise
        if created:
            self._disk.flush_folders([self.place.parent, self.place.parent.parent])
        self._identity = _identity(self.place)

    def _bring_over(self, salvage: Bringing) -> None:
        """Each damaged file once, in one transaction; a killed process leaves it to the next."""
        for damaged in self._aside.unread:
            try:
                with self.writing() as connection:
                    saved = salvage(connection, damaged)
                self._aside.note(damaged, saved)
            except StorageFailed:
                self.close()
                raise
            _log.warning("%s: %s.", damaged, saved)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        lock = FileLock(self.place.with_name(f"{FILE_NAME}.lock"))
        if not lock.acquire(_PATIENCE_SECONDS):
            raise StorageFailed(
                str(self.place),
                "another process is opening it",
                "Wait for that process, or end it.",
            )
        try:
            yield
        finally:
            lock.release()

    def close(self) -> None:
        """Close the file; the last one folds the write-ahead log into it."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One state of the file, whatever others write meanwhile; within `writing`, that state.

        Raises:
            StorageFailed: it cannot be read.
            Closed: it is not open.
        """
        with self._transaction("BEGIN") as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """All or nothing, on the disk when the outermost one ends; other writers wait.

        Raises:
            StorageFailed: nothing was written.
            Closed: it is not open.
        """
        with self._transaction("BEGIN IMMEDIATE") as connection:
            if _identity(self.place) != self._identity:
                raise StorageFailed(
                    str(self.place), "the file was removed or replaced in use", "Open it anew."
                )
            yield connection

    def scrub(self) -> None:
        """Empty the write-ahead log, where deleted text still stands, unless others are reading.

        Within `writing`, once that ends.
        """
        connection = self._opened()
        self._scrub_due = connection.in_transaction
        if self._scrub_due:
            return
        with self._told():
            connection.execute("PRAGMA busy_timeout = 0")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            connection.execute(f"PRAGMA busy_timeout = {int(_BUSY_SECONDS * 1000)}")

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        connection = self._opened()
        if connection.in_transaction:
            with self._told(), _part_of(connection):
                yield connection
            return
        with self._told():
            connection.execute(begin)
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:  # also when cancelled: no transaction is left open
                self._scrub_due = False
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
        if self._scrub_due:
            self.scrub()

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            raise not_open(str(self.place))
        return self._connection

    def _prepare(self) -> None:
        """Make the tables of a new file, or make sure of those of an old one."""
        connection = self._opened()
        if self._suspect.exists():
            _check_thoroughly(connection)
            self._suspect.unlink(missing_ok=True)
        if _is_complete(connection):  # most are: one who only opens waits for nobody who writes
            return
        connection.execute("BEGIN IMMEDIATE")
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        tables = connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]
        if version == 0 and tables == 0:
            for statement in _statements(_SCHEMA):
                connection.execute(statement)
        elif version != SCHEMA_VERSION:
            connection.execute("ROLLBACK")
            raise StorageFailed(
                str(self.place),
                f"it is laid out in version {version}, this library reads {SCHEMA_VERSION}",
                "Use the library that wrote it, or another folder.",
            )
        else:
            _complete(connection)
        connection.execute("COMMIT")

    @property
    def set_aside(self) -> list[str]:
        """The names of the damaged files, oldest first."""
        return [place.name for place in self._aside.files]

    @property
    def salvaged(self) -> dict[str, Salvage]:
        """What became of the memories in them."""
        found = ((place.name, self._aside.note_of(place)) for place in self._aside.files)
        return {name: salvage for name, salvage in found if salvage is not None}

    @property
    def _suspect(self) -> Path:
        """Left when a part was found damaged, so that the next open looks at every page."""
        return self.place.with_name(f"{FILE_NAME}.suspect")

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            damaged = is_damage(error)
            if damaged:
                self._suspect.touch()
            raise StorageFailed(
                str(self.place),
                f"SQLite refused: {error}",
                "Close it everywhere and open it again: every page is checked then, and what can "
                "still be read is saved."
                if damaged
                else "Free space, fix the permissions or end what keeps it busy, then repeat.",
            ) from error
        except OSError as error:
            raise StorageFailed(
                str(self.place), f"the disk refused: {error}", "Fix the folder, then repeat."
            ) from error


def _connect(place: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        place, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        connection.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
        connection.execute("PRAGMA journal_mode = WAL").fetchall()
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA secure_delete = ON").fetchall()
        connection.execute(f"PRAGMA journal_size_limit = {_WAL_LIMIT_BYTES}").fetchall()
    except sqlite3.Error:
        connection.close()
        raise
    return connection


@contextmanager
def _part_of(connection: sqlite3.Connection) -> Iterator[None]:
    """All or nothing within a transaction that goes on."""
    connection.execute("SAVEPOINT part")
    try:
        yield
    except BaseException:  # also when cancelled: nothing of the part is committed by the whole
        if connection.in_transaction:
            connection.execute("ROLLBACK TO part")
        raise
    finally:
        if connection.in_transaction:
            connection.execute("RELEASE part")


def _is_complete(connection: sqlite3.Connection) -> bool:
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    return version == SCHEMA_VERSION and _has_written(connection)


def _has_written(connection: sqlite3.Connection) -> bool:
    return "written" in {row[1] for row in connection.execute("PRAGMA table_info(spaces)")}


def _complete(connection: sqlite3.Connection) -> None:
    """Give a file of earlier days what it lacks; they can still read it then."""
    if not _has_written(connection):
        connection.execute("ALTER TABLE spaces ADD COLUMN written INTEGER NOT NULL DEFAULT 0")


def _statements(script: str) -> Iterator[str]:
    """Single statements, as `executescript` would commit the transaction it stands in."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def _check_thoroughly(connection: sqlite3.Connection) -> None:
    found = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
    if found != "ok":
        error = sqlite3.DatabaseError(found)
        error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise error


def _identity(place: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(place)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
