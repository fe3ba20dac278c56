"""Changes to files, as plain values: what `vault/` commits and a `ChangeSet` stages."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final


class AnyHash(Enum):
    """The type of `ANY`: the writer does not care what stood there before."""

    ANY = "any"


ANY: Final = AnyHash.ANY

Expected = str | None | AnyHash
"""A content hash the file must have, ``None`` (it must not exist), or `ANY`."""


@dataclass(frozen=True, slots=True)
class Write:
    """Put `data` at `path`, if the file there is still the expected one."""

    path: str
    data: bytes
    expected: Expected = ANY


@dataclass(frozen=True, slots=True)
class Delete:
    """Take the file at `path` away, if it is still the expected one."""

    path: str
    expected: Expected = ANY


Change = Write | Delete
