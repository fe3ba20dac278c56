"""Connections to seekdb or OceanBase over the MySQL protocol: kept, renewed, given up in time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, TypeVar

from agentscope_reme.errors import BadInput, ReMeError, StorageFailed

if TYPE_CHECKING:
    from pymysql.connections import Connection
    from pymysql.cursors import Cursor

T = TypeVar("T")
_Way = Callable[["Connection[Cursor]", Callable[["Cursor"], T]], T]
_IDLE: Final = 8
"""Connections kept for later; more are opened when more threads are at work."""
_LOST: Final = frozenset({0, 1927, 2002, 2003, 2006, 2013, 2014, 2055})
"""Errors of a connection, not of a statement."""
_MICROSECONDS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class SeekdbAddress:
    """Where a database is, and how long it is waited for.

    Args:
        host: name or address.
        port: of the MySQL protocol; 2881 by default in seekdb and OceanBase's proxy.
        user: with OceanBase ``user@tenant``.
        password: of the user; never shown.
        database: made when it does not exist.
        connect_seconds: how long a connection may take.
        answer_seconds: how long an answer may take; the first search by meaning after a restart of
            a large index takes ten seconds.
    """

    host: str = "127.0.0.1"
    port: int = 2881
    user: str = "root"
    password: str = field(default="", repr=False)
    database: str = "agentscope_reme"
    connect_seconds: float = 5.0
    answer_seconds: float = 60.0


class SeekdbConnections:
    """A few connections for many threads. Every piece of work can be done twice.

    Args:
        address: where to connect.

    Raises:
        BadInput: the client is not installed.
    """

    def __init__(self, address: SeekdbAddress) -> None:
        if find_spec("pymysql") is None:
            raise BadInput(
                "seekdb",
                "this store needs PyMySQL, which is not installed",
                "pip install 'agentscope-reme[seekdb]', or use the local store.",
            )
        self._address: Final = address
        self._idle: list[Connection[Cursor]] = []
        self._guard = threading.Lock()
        self._generation = 0

    def read(self, work: Callable[[Cursor], T]) -> T:
        """Run statements that change nothing, each seeing what is committed.

        Raises:
            StorageFailed: the database cannot be reached or refused.
        """
        return self._run(work, _plainly)

    def write(self, work: Callable[[Cursor], T]) -> T:
        """Run statements in one transaction; after a lost connection all of them once more.

        Raises:
            StorageFailed: nothing was changed, or the same may be done again.
        """
        return self._run(work, _in_transaction)

    def make_database(self) -> None:
        """Create the database if it does not exist.

        Raises:
            StorageFailed: the database cannot be reached or refused.
        """

        name = self._address.database.replace("`", "``")
        with self._translated():
            connection = self._connect(with_database=False)
            try:
                with connection.cursor() as cursor:
                    cursor.execute(f"CREATE DATABASE IF NOT EXISTS `{name}`")
            finally:
                _close(connection)

    def close(self) -> None:
        """Close all idle connections."""
        with self._guard:
            idle, self._idle = self._idle, []
            self._generation += 1
        for connection in idle:
            _close(connection)

    def _run(self, work: Callable[[Cursor], T], how: _Way[T]) -> T:
        from pymysql.err import MySQLError

        with self._translated():
            with self._guard:
                generation = self._generation
                kept = self._idle.pop() if self._idle else None
            if kept is not None:
                try:
                    return self._use(kept, generation, work, how)
                except (MySQLError, OSError) as error:
                    if not _is_lost(error):
                        raise
                    self.close()  # the others are as old as this one
            return self._use(self._connect(), self._generation, work, how)

    def _use(
        self,
        connection: Connection[Cursor],
        generation: int,
        work: Callable[[Cursor], T],
        how: _Way[T],
    ) -> T:
        try:
            found = how(connection, work)
        except ReMeError:
            self._give_back(connection, generation)
            raise
        except BaseException:  # whatever it was, the connection is in doubt
            _close(connection)
            raise
        self._give_back(connection, generation)
        return found

    @contextmanager
    def _translated(self) -> Iterator[None]:
        from pymysql.err import MySQLError

        try:
            yield
        except (MySQLError, OSError) as error:
            raise self._failure(error) from error

    def _failure(self, error: Exception) -> StorageFailed:
        place = f"{self._address.host}:{self._address.port}/{self._address.database}"
        if _is_lost(error):
            return StorageFailed(
                place,
                f"the database of the shared index does not answer: {error}",
                "Check that it runs; files are safe, and what was missed is indexed later.",
            )
        return StorageFailed(
            place,
            f"the database of the shared index refused: {error}",
            "Check its log, its free space and the rights of the user.",
        )

    def _give_back(self, connection: Connection[Cursor], generation: int) -> None:
        with self._guard:
            if generation == self._generation and len(self._idle) < _IDLE:
                self._idle.append(connection)
                return
        _close(connection)

    def _connect(self, *, with_database: bool = True) -> Connection[Cursor]:
        import pymysql

        address = self._address
        limit = int(address.answer_seconds * _MICROSECONDS)
        return pymysql.connect(
            host=address.host,
            port=address.port,
            user=address.user,
            password=address.password,
            database=address.database if with_database else None,
            charset="utf8mb4",
            autocommit=True,
            connect_timeout=max(1, round(address.connect_seconds)),
            read_timeout=address.answer_seconds + 1,  # the server's own message comes first
            write_timeout=address.answer_seconds,
            init_command=f"SET ob_query_timeout = {limit}, ob_trx_timeout = {10 * limit}",
        )


def _plainly(connection: Connection[Cursor], work: Callable[[Cursor], T]) -> T:
    with connection.cursor() as cursor:
        return work(cursor)


def _in_transaction(connection: Connection[Cursor], work: Callable[[Cursor], T]) -> T:
    connection.begin()
    try:
        with connection.cursor() as cursor:
            found = work(cursor)
        connection.commit()
    except ReMeError:
        connection.rollback()
        raise
    return found


def _is_lost(error: Exception) -> bool:
    code = error.args[0] if error.args else 0
    return isinstance(error, OSError) or code in _LOST


def _close(connection: Connection[Cursor]) -> None:
    from pymysql.err import MySQLError

    with suppress(MySQLError, OSError):  # it is thrown away, in whatever state it is
        connection.close()
