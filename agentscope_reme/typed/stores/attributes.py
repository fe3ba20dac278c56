"""What an engine is given to filter by, and filters in those terms.

Each engine compares text, sorts and mixes kinds in its own way. What they have in common is
equality of short texts and flags, and ranges of numbers; everything else is brought down to that.
Where it cannot be brought down exactly, an engine is asked for more than is meant, and the nodes it
returns are looked at again with `matches`.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Final

from agentscope_reme.typed.nodes import MemoryNode, NodeFilter, Scalar
from agentscope_reme.typed.stores.conditions import FIELDS, check_filter, value_of

Attributes = dict[str, str | float | bool]

LONGEST_TEXT: Final = 200
"""Characters of a text that an engine compares; a longer one is compared by its beginning."""
_PLAIN: Final = re.compile(r"[a-z_]{1,60}")
_SINGLE: Final = " -:0123456789"
"""Characters of times; what lies between them is not told apart."""
_BASE: Final = 2 * len(_SINGLE) + 2
_DIGITS: Final = 11
"""As many digits of that base as a 64-bit float holds exactly: `_BASE` ** 11 < 2 ** 53."""


@dataclass(frozen=True, slots=True)
class AnyOf:
    """An attribute is one of these."""

    name: str
    values: tuple[str | bool, ...]


@dataclass(frozen=True, slots=True)
class NoneOf:
    """A flag is missing or unset."""

    name: str


@dataclass(frozen=True, slots=True)
class Within:
    """An attribute is a number between two, inclusive."""

    name: str
    lowest: float
    highest: float


Condition = AnyOf | NoneOf | Within


@dataclass(frozen=True, slots=True)
class Asked:
    """A filter in the terms of an engine.

    Attributes:
        conditions: all must hold.
        exact: nothing else meets them than what is meant.
        nothing: no node can be meant.
    """

    conditions: tuple[Condition, ...]
    exact: bool = True
    nothing: bool = False


def attributes_of(node: MemoryNode) -> Attributes:
    """What a node can be found by."""
    found: Attributes = {}
    for key in FIELDS | node.metadata.keys():
        value = value_of(node, key)
        if value is not None:
            _add(found, key, value)
    return found


def asked(where: NodeFilter) -> Asked:
    """What an engine is asked for.

    Raises:
        BadInput: the filter makes no sense.
    """
    check_filter(where)
    conditions: list[Condition] = []
    exact = True
    for key, wanted in (("memory_target", where.targets), ("memory_type", where.types)):
        if wanted is not None:
            texts = sorted(map(str, wanted))
            conditions.append(AnyOf(_name("t", key), tuple(text[:LONGEST_TEXT] for text in texts)))
            exact = exact and all(len(text) < LONGEST_TEXT for text in texts)
    for key, value in where.equal.items():
        conditions.append(_equal(key, value))
        exact = exact and (not isinstance(value, str) or len(value) < LONGEST_TEXT)
    for key, (low, high) in where.between.items():
        conditions.append(_between(key, low, high))
        exact = exact and not isinstance(low, str)
    nothing = any(isinstance(asks, AnyOf) and not asks.values for asks in conditions)
    return Asked(tuple(conditions), exact, nothing)


def place_of(text: str) -> float:
    """A number that never puts two texts in another order than they are in.

    Exact for what times are written with, up to the tens of minutes of a whole date.
    """
    place = 0
    digits = [_digit(char) for char in text[:_DIGITS]]
    for position in range(_DIGITS):
        digit = digits[position] if position < len(digits) else 0
        place = place * _BASE + digit
        if digit % 2:  # it stands for many characters: what follows says nothing
            digits = digits[: position + 1]
    return float(place)


def presence(space_id: str) -> str:
    """The flag of a node that has a vector in a space."""
    return f"v_{short_hash(space_id)}"


def is_presence(name: str) -> bool:
    """Whether an attribute is the flag of a space."""
    return name.startswith("v_")


def short_hash(text: str) -> str:
    """Enough of a hash to name a thing by."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]


def _add(found: Attributes, key: str, value: Scalar) -> None:
    if isinstance(value, bool):
        found[_name("f", key)] = value
    elif isinstance(value, str):
        found[_name("t", key)] = value[:LONGEST_TEXT]
        found[_name("p", key)] = place_of(value)
    else:
        found[_name("n", key)] = float(value)


def _equal(key: str, value: Scalar) -> Condition:
    if isinstance(value, bool):
        return AnyOf(_name("f", key), (value,))
    if isinstance(value, str):
        return AnyOf(_name("t", key), (value[:LONGEST_TEXT],))
    return Within(_name("n", key), float(value), float(value))


def _between(key: str, low: Scalar, high: Scalar) -> Condition:
    if isinstance(low, str) or isinstance(high, str):
        return Within(_name("p", key), place_of(str(low)), place_of(str(high)))
    return Within(_name("n", key), float(low), float(high))


def _name(kind: str, key: str) -> str:
    """A name no engine gives a meaning to; keys with other signs are hashed."""
    return f"{kind}_{key}" if _PLAIN.fullmatch(key) else f"{kind}_{short_hash(key)}"


def _digit(char: str) -> int:
    """Even for one of `_SINGLE`, odd for all characters between two of them; 0 is none at all."""
    below = sum(single < char for single in _ORDER)
    return 2 * below + 2 if char in _SINGLE else 2 * below + 1


_ORDER: Final = sorted(_SINGLE)
