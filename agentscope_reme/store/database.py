"""The SQLite file behind the store: generations, schema, damage.

``metadata/CURRENT`` names the generation in use, ``index-<number>.db``. A generation that is
damaged, foreign or made by other rules is set aside and an empty one takes its place; its vectors
are carried over when they can be read.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from agentscope_reme.errors import StorageFailed
from agentscope_reme.store.index_schema import SCHEMA, SCHEMA_VERSION, check_index, is_damage
from agentscope_reme.workspace import Workspace

_GENERATION: Final = re.compile(r"index-(\d+)\.db")
_BUSY_SECONDS: Final = 10.0
_WAL_LIMIT_BYTES: Final = 4 * 1024 * 1024


class Database:
    """One connection to the current generation. Its owner serialises the calls.

    Args:
        workspace: whose ``metadata/`` folder holds the files.
        fingerprint: names the rules (tokenizer, chunker) the content was made by.
    """

    def __init__(self, workspace: Workspace, fingerprint: str) -> None:
        self._folder = workspace.metadata
        self._lock_file = workspace.locks / "index-generation.lock"
        self._fingerprint = fingerprint
        self._connection: sqlite3.Connection | None = None
        self._stamp: tuple[int, int] | None = None
        self._place: Path | None = None
        self.notices: list[str] = []

    @property
    def connection(self) -> sqlite3.Connection:
        """The open connection."""
        if self._connection is None:
            raise sqlite3.ProgrammingError("the index database is not open")
        return self._connection

    def open(self) -> None:
        """Open the current generation, or make one."""
        with self._exclusive():
            place = self._current()
            if place is None:
                self._start_generation(self._newest())
                return
            try:
                self._connection = _connect(place)
                check_index(self._connection, place, self._fingerprint)
            except sqlite3.DatabaseError as error:
                self.close()
                if not is_damage(error):
                    raise
                self.notices.append(f"The index {place.name} was set aside: {error}.")
                self._start_generation(place)
            else:
                self._remember(place)

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
            self.notices.append(f"The index was set aside: {reason}.")
        with self._exclusive():
            self._start_generation(place, keep_old=reason is not None)

    def superseded(self) -> bool:
        """Whether another process put a new generation in place."""
        return _stamp(self._folder / "CURRENT") != self._stamp

    def data_version(self) -> int:
        """A number that changes when another connection commits."""
        row = self.connection.execute("PRAGMA data_version").fetchone()
        return int(row[0])

    def bytes_on_disk(self) -> int:
        """Size of the database and its write-ahead log."""
        if self._place is None:
            return 0
        places = (self._place, _with_suffix(self._place, "-wal"))
        return sum(place.stat().st_size for place in places if place.exists())

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing; other writers wait."""
        connection = self.connection
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")

    def _start_generation(self, old: Path | None, *, keep_old: bool = True) -> None:
        place = self._fresh_place()
        self._connection = _connect(place, create=True)
        self._connection.executescript(SCHEMA)
        with self.transaction() as connection:
            connection.executemany(
                "INSERT INTO meta VALUES (?, ?)",
                [("schema", SCHEMA_VERSION), ("fingerprint", self._fingerprint)],
            )
        if old is not None and old.exists():
            self._carry_vectors(old)
        self._name_current(place)
        self._remember(place)
        self._retire(place, old if keep_old else None)

    def _carry_vectors(self, old: Path) -> None:
        connection = self.connection
        try:
            connection.execute("ATTACH ? AS old", (str(old),))
            with self.transaction():
                connection.execute("INSERT INTO vectors SELECT * FROM old.vectors")
                connection.execute(
                    "INSERT INTO meta SELECT key, value FROM old.meta WHERE key = 'space_id'"
                )
        except sqlite3.DatabaseError:
            self.notices.append("Vectors of the old index could not be read; they are made again.")
        finally:
            if len(connection.execute("PRAGMA database_list").fetchall()) > 1:
                connection.execute("DETACH old")

    def _retire(self, place: Path, aside: Path | None) -> None:
        """Rename the distrusted file to ``*.corrupt``, one at most; remove other generations."""
        if aside is not None and aside.exists():
            for earlier in self._folder.glob("index-*.corrupt"):
                earlier.unlink(missing_ok=True)
            os.replace(aside, _with_suffix(aside, ".corrupt"))
        for file in self._folder.glob("index-*.db*"):
            if file.name.startswith(place.name) or file.suffix == ".corrupt":
                continue
            try:
                file.unlink(missing_ok=True)
            except PermissionError:
                continue  # still open in another process; the next generation removes it

    def _fresh_place(self) -> Path:
        numbers = [int(m[1]) for f in self._folder.iterdir() if (m := _GENERATION.match(f.name))]
        return self._folder / f"index-{max(numbers, default=0) + 1}.db"

    def _newest(self) -> Path | None:
        found = [f for f in self._folder.iterdir() if _GENERATION.fullmatch(f.name)]
        if not found:
            return None
        newest = max(found, key=lambda f: int(f.stem.removeprefix("index-")))
        self.notices.append(f"metadata/CURRENT was missing; {newest.name} was set aside.")
        return newest

    def _current(self) -> Path | None:
        try:
            name = (self._folder / "CURRENT").read_text("utf-8").strip()
        except (FileNotFoundError, UnicodeDecodeError):
            return None
        place = self._folder / name
        if _GENERATION.fullmatch(name) and place.is_file():
            return place
        self.notices.append("metadata/CURRENT names no index; an empty one was made.")
        return None

    def _name_current(self, place: Path) -> None:
        draft = self._folder / "CURRENT.tmp"
        draft.write_text(place.name + "\n", "utf-8")
        os.replace(draft, self._folder / "CURRENT")

    def _remember(self, place: Path) -> None:
        self._place = place
        self._stamp = _stamp(self._folder / "CURRENT")

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._lock_file.parent.mkdir(parents=True, exist_ok=True)
        try:
            with FileLock(self._lock_file, timeout=_BUSY_SECONDS):
                yield
        except Timeout as error:
            raise StorageFailed(
                str(self._folder),
                "another process has been opening the index for too long",
                "Close that process, or try again.",
            ) from error


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


def _stamp(place: Path) -> tuple[int, int] | None:
    try:
        stat = place.stat()
    except FileNotFoundError:
        return None
    return stat.st_mtime_ns, stat.st_ino


def _with_suffix(place: Path, suffix: str) -> Path:
    return place.with_name(place.name + suffix)
