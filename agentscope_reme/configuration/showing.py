"""Every value and where it came from, with secrets out of sight."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

from pydantic import BaseModel, SecretStr

from agentscope_reme.configuration.sections import Configuration

HIDDEN: Final = "********"
"""What stands for a secret, however long it is."""

_SOUNDS_SECRET: Final = re.compile(
    r"key|token|secret|password|passwd|pwd|credential|auth|cookie|signature", re.I
)
_IS_SECRET: Final = re.compile(r"(bearer|basic)\s", re.I)
"""How the value of a header begins that lets somebody in."""


@dataclass(frozen=True, slots=True)
class Shown:
    """One value, as it may be shown.

    Attributes:
        key: dotted.
        value: as JSON has it; `HIDDEN` for a secret that is set.
        origin: where it came from.
    """

    key: str
    value: Any
    origin: str


def shown(configuration: Configuration) -> list[Shown]:
    """All values, in the order of the sections."""
    rows: list[Shown] = []
    for name in Configuration.model_fields:
        value = getattr(configuration, name)
        if isinstance(value, BaseModel):
            rows += [
                _row(configuration, f"{name}.{key}", getattr(value, key))
                for key in type(value).model_fields
            ]
        else:
            rows.append(_row(configuration, name, value))
    return rows


def _row(configuration: Configuration, key: str, value: Any) -> Shown:
    shown = _without_secrets(value)
    if key.endswith("_url") and isinstance(value, str):
        shown = _without_login(value)
    return Shown(key, shown, _origin(configuration, key))


def sounds_secret(key: str) -> bool:
    """Whether a key is the name of something nobody is to see."""
    return bool(_SOUNDS_SECRET.search(key))


def _origin(configuration: Configuration, key: str) -> str:
    """Of a mapping: of all its values."""
    below = [
        origin
        for one, origin in configuration.origins.items()
        if one == key or one.startswith(f"{key}.")
    ]
    return ", ".join(dict.fromkeys(below)) or configuration.origin(key)


def _without_secrets(value: Any) -> Any:
    match value:
        case SecretStr():
            return HIDDEN if value.get_secret_value() else ""
        case dict():
            return {
                key: HIDDEN if sounds_secret(str(key)) else _without_secrets(one)
                for key, one in value.items()
            }
        case list():
            return [_without_secrets(one) for one in value]
        case str() if _IS_SECRET.match(value):
            return HIDDEN
        case str() if "://" in value:
            return _without_login(value)
        case _:
            return value


def _without_login(address: str) -> str:
    """An address without user, password and query: services take keys in each of them."""
    if "://" not in address:
        return HIDDEN if "@" in address else address
    try:
        parts = urlsplit(address)
    except ValueError:
        return HIDDEN
    host = parts.netloc.rpartition("@")[2]
    login = f"{HIDDEN}@" if "@" in parts.netloc else ""
    query = HIDDEN if parts.query else ""
    return urlunsplit((parts.scheme, login + host, parts.path, query, ""))
