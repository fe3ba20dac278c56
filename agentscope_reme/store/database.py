"""The SQLite file behind the store: opening it, replacing it, building the next one beside it.

A generation that is damaged, foreign or laid out in another way is set aside and an empty one
takes its place, marked as incomplete; its vectors are carried over when they can be read. One that
was merely made by other rules (tokenizer, chunker) goes on answering until a new one is built.

Of two versions of this library on one workspace the newer one has its way, so that they do not
replace each other's index for ever: the older one refuses while the newer one is at work.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from agentscope_reme.errors import StorageFailed, sentence
from agentscope_reme.files.disk import Disk
from agentscope_reme.files.locks import seconds_left
from agentscope_reme.store.generations import Generations
from agentscope_reme.store.index_schema import (
    SCHEMA,
    SCHEMA_VERSION,
    Newer,
    check_index,
    is_damage,
)
from agentscope_reme.store.vector_spaces import carry_spaces
from agentscope_reme.workspace import Workspace

INCOMPLETE: Final = "incomplete"
"""Key in ``meta``: not every file has been brought into this generation yet."""
_MIXED: Final = "mixed"
_BUSY_SECONDS: Final = 10.0
_WAL_LIMIT_BYTES: Final = 4 * 1024 * 1024


class Database:
    """One connection to the current generation. Its owner serialises the calls.

    Args:
        workspace: whose ``metadata/`` folder holds the files.
        fingerprint: names the rules (tokenizer, chunker) the content is made by.
        disk: how ``CURRENT`` becomes durable.

    Attributes:
        outdated: the content was made by other rules.
    """

    def __init__(self, workspace: Workspace, fingerprint: str, disk: Disk | None = None) -> None:
        self.generations: Final = Generations(workspace, disk or Disk())
        self.outdated = False
        self._fingerprint = fingerprint
        self._connection: sqlite3.Connection | None = None
        self._stamp: tuple[int, int] | None = None
        self._place: Path | None = None

    @property
    def connection(self) -> sqlite3.Connection:
        """The open connection."""
        if self._connection is None:
            raise sqlite3.ProgrammingError("the index database is not open")
        return self._connection

    @property
    def name(self) -> str:
        """The name of the generation."""
        return "" if self._place is None else self._place.name

    @property
    def notices(self) -> list[str]:
        """What a person should know, in words."""
        return self.generations.notices

    def open(self) -> None:
        """Open the current generation, or make one.

        Raises:
            StorageFailed: a newer version of this library made it, and is at work.
        """
        with self.generations.exclusive():
            self.generations.set_strangers_aside()
            place = self.generations.current()
            if place is None:
                self._start_generation(self.generations.unnamed())
                return
            try:
                self._connect(place)
            except sqlite3.DatabaseError as error:
                self.close()
                if not is_damage(error):
                    raise
                if isinstance(error, Newer) and self.generations.others_at_work():
                    raise _too_old(place, error) from error
                self.notices.append(f"The index {place.name} was set aside: {sentence(error)}")
                self._start_generation(place)
            else:
                self.generations.tidy(place)

    def reopen(self) -> None:
        """Turn to the generation that took the place of this one."""
        removed, told = self.generations.stamp() is None, len(self.notices)
        self.close()
        self.open()
        if removed and len(self.notices) == told:
            self.notices.append("The index was removed while in use; it is made anew.")

    def close(self) -> None:
        """Close the connection; the last one folds the write-ahead log into the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def replace(self, reason: str | None = None) -> None:
        """Put an empty generation in the place of this one; vectors are carried over.

        Args:
            reason: why the content is not trusted; ``None`` when it is merely not wanted.
        """
        place = self._place
        self.close()
        if reason is not None:
            self.notices.append(f"The index was set aside: {sentence(reason)}")
        with self.generations.exclusive():
            self._start_generation(place, keep_old=reason is not None)

    def superseded(self) -> bool:
        """Whether another generation was put in place, or this one could not be opened."""
        return self._connection is None or self.generations.stamp() != self._stamp

    def take_over(self, shadow: ShadowDatabase) -> None:
        """Go on with a shadow that became current, and remove what it replaced."""
        self.close()
        self._connection, shadow._connection = shadow._connection, None
        self._place, self._stamp = shadow._place, shadow._stamp
        self.outdated = False
        if self._place is not None:
            with self.generations.exclusive():
                self.generations.retire(self._place)

    def data_version(self) -> int:
        """A number that changes when another connection commits."""
        row = self.connection.execute("PRAGMA data_version").fetchone()
        return int(row[0])

    def bytes_on_disk(self) -> int:
        """Size of the database and its write-ahead log."""
        if self._place is None:
            return 0
        places = (self._place, self._place.with_name(f"{self._place.name}-wal"))
        return sum(place.stat().st_size for place in places if place.exists())

    @contextmanager
    def transaction(self, *, immediate: bool = True) -> Iterator[sqlite3.Connection]:
        """All or nothing; other writers wait, from the first write on when not `immediate`.

        A writer that was stopped in the middle is waited for as long as for any other lock.
        """
        connection = self.connection
        patience = int(seconds_left(_BUSY_SECONDS) * 1000)
        connection.execute(f"PRAGMA busy_timeout = {patience}")
        connection.execute("BEGIN IMMEDIATE" if immediate else "BEGIN")
        try:
            yield connection
        except BaseException:  # also when cancelled: no transaction is left open
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")

    def own_up(self) -> None:
        """Note, inside a transaction, that what is written now follows other rules than the rest.

        Whoever opens the index next, by whichever rules, then finds it outdated.
        """
        if self.outdated:
            self.connection.execute(
                "UPDATE meta SET value = ? WHERE key = 'fingerprint'", (_MIXED,)
            )

    def _connect(self, place: Path) -> None:
        self._connection = _connect(place)
        self.outdated = check_index(self._connection, place) != self._fingerprint
        self._place = place
        self._stamp = self.generations.stamp()

    def _start_generation(self, old: Path | None, *, keep_old: bool = True) -> None:
        place = self._create((INCOMPLETE, 1))
        if old is not None and old.exists():
            self._carry_vectors(old)
        self.generations.name_current(place)
        self._stamp = self.generations.stamp()
        self.generations.retire(place, old if keep_old else None)

    def _create(self, *meta: tuple[str, object]) -> Path:
        place = self.generations.fresh()
        self._connection = _connect(place, create=True)
        self._connection.executescript(SCHEMA)
        rules = [("schema", SCHEMA_VERSION), ("fingerprint", self._fingerprint)]
        with self.transaction() as connection:
            connection.executemany("INSERT INTO meta VALUES (?, ?)", [*rules, *meta])
        self._place = place
        self.outdated = False
        return place

    def _carry_vectors(self, old: Path) -> None:
        """Copy the vectors another generation has, by text hash, and know their spaces."""
        connection = self.connection
        try:
            connection.execute("ATTACH ? AS old", (str(old),))
            # Immediate would ask for a write lock on the other generation as well.
            with self.transaction(immediate=False):
                carry_spaces(connection)
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            self.notices.append("Vectors of the old index could not be read; they are made again.")
        finally:
            if len(connection.execute("PRAGMA database_list").fetchall()) > 1:
                connection.execute("DETACH old")


class ShadowDatabase(Database):
    """A generation nobody reads yet. One that a crash left half built is gone on with."""

    def open(self) -> None:
        """Continue the generation that was begun last, or begin one."""
        with self.generations.exclusive():
            begun = self.generations.half_built()
            if begun is None or not self._continues(begun):
                self._create()

    def superseded(self) -> bool:
        """Never: what happens to the current generation is `Shadow`'s to follow."""
        return False

    def replace(self, reason: str | None = None) -> None:
        """Give a damaged one up; what it held would be missing from another.

        Raises:
            StorageFailed: always.
        """
        place = self._place
        self.close()
        if place is not None:
            self.generations.discard(place)
        raise StorageFailed(
            self.name, f"the index under construction was damaged: {reason}", "Reindex again."
        )

    def carry_vectors(self, current: Database) -> None:
        """Copy what vectors the current generation has and this one lacks."""
        if current._place is not None:
            self._carry_vectors(current._place)

    def fold(self) -> None:
        """Fold the write-ahead log into the file and flush it, before it becomes current."""
        self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def become_current(self) -> None:
        """Let this be the generation every process turns to.

        Raises:
            StorageFailed: somebody removed it.
        """
        with self.generations.exclusive():
            if self._place is None or not self._place.exists():
                raise StorageFailed(
                    self.name, "the index under construction was removed", "Reindex again."
                )
            self.generations.name_current(self._place)
            self._stamp = self.generations.stamp()

    def _continues(self, begun: Path) -> bool:
        try:
            self._connect(begun)
        except sqlite3.DatabaseError:
            self.outdated = True
        if self.outdated:
            self.close()
            self.generations.discard(begun)
        return not self.outdated


def _too_old(place: Path, error: Newer) -> StorageFailed:
    return StorageFailed(
        place.name,
        f"a newer version of this library made the index and uses it: {error}",
        "Update this process, or close the newer one; the files are safe.",
    )


def _connect(place: Path, *, create: bool = False) -> sqlite3.Connection:
    mode = "rwc" if create else "rw"
    connection = sqlite3.connect(
        f"{place.as_uri()}?mode={mode}",
        uri=True,
        timeout=_BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        if create:
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA journal_size_limit = {_WAL_LIMIT_BYTES}")
    except sqlite3.Error:
        connection.close()
        raise
    return connection
