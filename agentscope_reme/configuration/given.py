"""A value somebody gave, and where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Path = tuple[str, ...]
"""The way to a value: ``("llm", "model_name")``."""


@dataclass(frozen=True, slots=True)
class Plain:
    """A word without quotes: a number or a truth value where nothing says that it is text."""

    text: str


@dataclass(frozen=True, slots=True)
class Given:
    """A value and its origin.

    Attributes:
        value: text, `Plain`, ``None``, or a list of them; a mapping only where it is empty.
        origin: ``reme.yaml:12``, ``environment variable REME_LLM_API_KEY``, ``command line``.
    """

    value: Any
    origin: str


Layer = Mapping[Path, Given]
"""What one source says."""


def dotted(path: Path) -> str:
    """As people write it."""
    return ".".join(path)


def overlaid(*layers: Layer) -> dict[Path, Given]:
    """One layer above the other, the last on top; a value hides all that lies below its path."""
    found: dict[Path, Given] = {}
    for layer in layers:
        for path, given in layer.items():
            hidden = [other for other in found if _one_holds_the_other(path, other)]
            for other in hidden:
                del found[other]
            found[path] = given
    return found


def _one_holds_the_other(path: Path, other: Path) -> bool:
    shorter = min(len(path), len(other))
    return len(path) != len(other) and path[:shorter] == other[:shorter]
