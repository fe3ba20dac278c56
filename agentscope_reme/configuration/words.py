"""``key=value`` words: what was written behind a command."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from agentscope_reme.configuration.showing import sounds_secret
from agentscope_reme.errors import BadInput

_STANDARD_INPUT: Final = "-"
_NOT_A_NAME: Final = re.compile(r"[^\w.-]")
_OTHER_ENCODINGS: Final = {
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
"""How a file begins that some editors and shells write; none of it is UTF-8."""


def split(words: Iterable[str]) -> dict[str, str]:
    """The values by their keys.

    A value is taken as it stands, ``@file`` is what a file holds, ``-`` is standard input, and
    ``@@text`` is the text ``@text``. What is read must be UTF-8; a byte order mark is left out.

    Raises:
        BadInput: a word has no key or is given twice, or something cannot be read.
    """
    given: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise BadInput(
                _told(word), "not of the form key=value", "Put its key before it, such as query=..."
            )
        if key.startswith("-"):
            bare = key.lstrip("-").replace("-", "_")
            like = "..." if sounds_secret(key) else value[:40]
            raise BadInput(key, "keys have no dashes in front", f"Write {bare}={like}.")
        if key in given:
            raise BadInput(key, "this key is given twice", "Keep one of them.")
        given[key] = value
    if [value for value in given.values() if value == _STANDARD_INPUT][1:]:
        raise BadInput("-", "standard input can be read once only", "Use @file for the others.")
    return {key: _content(key, value) for key, value in given.items()}


def _content(key: str, value: str) -> str:
    if value.startswith("@@"):
        return _text(key, value[1:])
    advice = "Check it; for a text that begins with @ write @@."
    try:
        if value == _STANDARD_INPUT:
            return _decoded(f"{key}={value}", _standard_input())
        if value.startswith("@"):
            return _decoded(f"{key}={value}", Path(value[1:]).read_bytes())
    except (OSError, ValueError) as error:  # ValueError: no path at all
        if isinstance(error, BadInput):
            raise
        secret = sounds_secret(key)  # `@` may have been the beginning of it
        given = f"{key}=@..." if secret else f"{key}={value}"
        told = getattr(error, "strerror", None) if secret else error
        raise BadInput(given, f"cannot be read: {told}", advice) from error
    return _text(key, value)


def _told(word: str) -> str:
    """A word that is wrong; of one that may hold a secret its beginning."""
    if word.startswith("=") or sounds_secret(word):
        return f"{_NOT_A_NAME.split(word, maxsplit=1)[0]}..."
    return word


def _decoded(given: str, data: bytes) -> str:
    named = next((name for mark, name in _OTHER_ENCODINGS.items() if data.startswith(mark)), "")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        told = f"it is {named}" if named else f"no UTF-8: {error.reason} at byte {error.start + 1}"
        raise BadInput(given, f"cannot be read: {told}", "Save it as UTF-8.") from error


def _text(key: str, value: str) -> str:
    """The value, when the terminal sent text; Python carries other bytes along as surrogates."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise BadInput(
            key,
            f"its value is not in the encoding of this terminal, from character {error.start + 1}",
            "Write it in UTF-8, or put it into a file and give @file.",
        ) from error
    return value


def _standard_input() -> bytes:
    if sys.stdin is None:
        raise OSError("standard input is closed")
    return sys.stdin.buffer.read()
