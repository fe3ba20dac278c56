"""What a caller passed, as it must be: a number, a text, a list of texts, a mapping."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from agentscope_reme.errors import BadInput


def whole_number(value: object, what: str) -> int:
    """A count or a line number as it must be.

    Raises:
        BadInput: it is not a whole number.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise BadInput(value, f"`{what}` must be a whole number", "Pass a number such as 10.")


def plain_text(value: object, what: str) -> str:
    """A text argument as it must be.

    Raises:
        BadInput: it is not text.
    """
    if isinstance(value, str):
        return value
    raise BadInput(value, f"`{what}` must be text", "Pass a string.")


def optional_text(value: object, what: str) -> str:
    """A text argument that may be left out; nothing is an empty text.

    Raises:
        BadInput: it is given and not text.
    """
    return "" if value is None else plain_text(value, what).strip()


def mapping(value: object, what: str) -> Mapping[str, Any]:
    """A mapping argument that may be left out; nothing is an empty one.

    Raises:
        BadInput: it is given and not a mapping.
    """
    if value is None:
        return {}
    if isinstance(value, Mapping):
        return value
    raise BadInput(value, f"`{what}` must be a mapping", 'Pass a dictionary, such as {"tags": []}.')


def text_list(value: object, what: str) -> list[str]:
    """An argument that is a list of texts.

    Raises:
        BadInput: it is something else; a lone text too, which would be taken apart.
    """
    listed = isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)
    items = list(value) if listed and isinstance(value, Iterable) else []
    if listed and all(isinstance(item, str) for item in items):
        return items
    raise BadInput(value, f"`{what}` must be a list of texts", 'Pass a list, such as ["a", "b"].')
