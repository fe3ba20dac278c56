"""What a key takes, for people who do not read annotations."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from inspect import formatannotation
from types import NoneType, UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr

_WORDS: Final[dict[Any, str]] = {
    str: "text",
    SecretStr: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    Any: "text or JSON",
    os.PathLike: "text",
}
_ONE_OF: Final = {str: "texts", int: "whole numbers", float: "numbers"}


def choices(kind: Any) -> tuple[Any, ...]:
    """The alternatives of a union; a list of texts is none of them."""
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else ()


def is_collection(kind: Any) -> bool:
    """Whether a list or a mapping is among what is taken."""
    return any(_is_a(Collection, choice) for choice in (choices(kind) or (kind,)))


def in_words(kind: Any) -> str:
    """As it stands in ``--help``, and in a refusal behind "Give it as"."""
    alternatives = [choice for choice in choices(kind) or (kind,) if choice is not NoneType]
    return " or ".join(dict.fromkeys(map(_one_in_words, alternatives)))


def _one_in_words(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return " or ".join(str(word) for word in get_args(kind))
    if _is_a(Mapping, kind) or (isinstance(kind, type) and issubclass(kind, BaseModel)):
        return "a mapping in JSON, or @file"
    if _is_a(Collection, kind):
        of = _ONE_OF.get(get_args(kind)[0])
        return f"a list of {of} in JSON, or @file" if of else "a list in JSON, or @file"
    return _WORDS.get(get_origin(kind) or kind) or formatannotation(kind)


def _is_a(parent: type, kind: Any) -> bool:
    origin = get_origin(kind)
    return isinstance(origin, type) and issubclass(origin, parent)
