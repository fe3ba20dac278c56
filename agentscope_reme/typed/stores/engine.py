"""What a database must be able to do so that `EngineStore` can keep memories in it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, ParamSpec, TypeVar

from agentscope_reme.errors import StorageFailed
from agentscope_reme.store.vectors import Floats
from agentscope_reme.typed.stores.attributes import Attributes, Condition

AT_ONCE: Final = 500
"""Records in one call; every engine takes as many."""

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Record:
    """What an engine keeps under a key.

    Attributes:
        key: 32 hexadecimal digits.
        body: a text that is kept as it is, of any length.
        attributes: what it can be found by.
        vector: normalised; ``None`` in collections without.
    """

    key: str
    body: str
    attributes: Attributes
    vector: Floats | None = None


@dataclass(frozen=True, slots=True)
class Near:
    """A record that a search found.

    Attributes:
        key: its key.
        body: its body.
        cosine: how near it is.
    """

    key: str
    body: str
    cosine: float


@dataclass(frozen=True, slots=True)
class Page:
    """Some records without their vectors; `after` asks for those behind, ``None`` at the end."""

    records: Sequence[Record]
    after: Any


class Engine(ABC):
    """Records in collections. What a call wrote, the next call sees.

    Attributes:
        name: what people call it.
        faults: what its client raises when it refuses or cannot be reached.
    """

    name: ClassVar[str]
    faults: ClassVar[tuple[type[Exception], ...]]

    @abstractmethod
    def open(self) -> None:
        """Connect."""

    @abstractmethod
    def close(self) -> None:
        """Let go."""

    @abstractmethod
    def ensure(self, collection: str, width: int | None) -> None:
        """Make a collection when it is missing.

        Args:
            collection: its name: lower case letters, digits, ``_`` and ``-``.
            width: numbers per vector; ``None`` when its records have none.
        """

    @abstractmethod
    def drop(self, collection: str) -> None:
        """Remove a collection with all its records; an unknown one is left alone."""

    @abstractmethod
    def put(self, collection: str, records: Sequence[Record]) -> None:
        """Store records whole, new or in place of those with the same keys."""

    @abstractmethod
    def flag(self, collection: str, keys: Sequence[str], name: str, value: bool) -> None:
        """Set one attribute of records and leave the rest as it is; those that are gone stay so."""

    @abstractmethod
    def fetch(
        self, collection: str, keys: Sequence[str], *, with_vectors: bool = False
    ) -> Mapping[str, Record]:
        """The records with these keys, by key; unknown ones are left out."""

    @abstractmethod
    def delete(self, collection: str, keys: Sequence[str]) -> None:
        """Remove records; unknown ones are left alone."""

    @abstractmethod
    def page(self, collection: str, conditions: Sequence[Condition], size: int, after: Any) -> Page:
        """The next records that meet every condition.

        Args:
            collection: where.
            conditions: what must hold.
            size: how many at the most.
            after: what the page before says; ``None`` for the first.
        """

    @abstractmethod
    def count(self, collection: str, conditions: Sequence[Condition]) -> int:
        """How many records meet every condition."""

    @abstractmethod
    def nearest(
        self, collection: str, vector: Floats, limit: int, conditions: Sequence[Condition]
    ) -> Sequence[Near]:
        """The nearest by cosine that meet every condition, best first.

        Fewer than `limit` only when there are no more.
        """


class Asking:
    """An engine whose refusals are told as errors of this library.

    Args:
        engine: the database.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine: Final = engine

    def __call__(self, work: Callable[P, T], *given: P.args, **options: P.kwargs) -> T:
        """What a method of the engine answers.

        Raises:
            StorageFailed: the engine refused or could not be reached.
        """
        try:
            return work(*given, **options)
        except self.engine.faults as error:
            raise StorageFailed(
                self.engine.name,
                f"it refused or could not be reached: {error}",
                "See to the database, then repeat the call.",
            ) from error

    def put(self, collection: str, records: Sequence[Record]) -> None:
        """Store records, some at a time."""
        for part in _parts(records):
            self(self.engine.put, collection, part)

    def flag(self, collection: str, keys: Sequence[str], name: str, value: bool) -> None:
        """Set one attribute of records, some at a time."""
        for part in _parts(keys):
            self(self.engine.flag, collection, part, name, value)

    def fetch(
        self, collection: str, keys: Sequence[str], *, with_vectors: bool = False
    ) -> dict[str, Record]:
        """The records with these keys, some at a time."""
        found: dict[str, Record] = {}
        for part in _parts(keys):
            found.update(self(self.engine.fetch, collection, part, with_vectors=with_vectors))
        return found

    def delete(self, collection: str, keys: Sequence[str]) -> None:
        """Remove records, some at a time."""
        for part in _parts(keys):
            self(self.engine.delete, collection, part)

    def scan(
        self, collection: str, conditions: Sequence[Condition], size: int | None = None
    ) -> Iterator[Sequence[Record]]:
        """All records that meet every condition, page by page."""
        after = None
        while True:
            page = self(self.engine.page, collection, conditions, size or AT_ONCE, after)
            if page.records:
                yield page.records
            after = page.after
            if after is None:
                return


def _parts(rows: Sequence[T]) -> Iterator[Sequence[T]]:
    return (rows[start : start + AT_ONCE] for start in range(0, len(rows), AT_ONCE))
