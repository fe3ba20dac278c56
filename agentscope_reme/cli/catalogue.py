"""What ``--help`` and shell completion know of the jobs, without loading what runs them.

``catalogue.json`` is written by ``python -m agentscope_reme.cli.describing``; a test compares it
with the calls themselves.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

FILE: Final = Path(__file__).with_name("catalogue.json")


class Key(NamedTuple):
    """One key that may be given.

    Attributes:
        name: as it is written, before ``=``.
        kind: its type.
        default: as text; ``None`` where it must be given.
        about: what it is for.
        choices: what it may be, where that is a few words.
        told: its type, for people.
    """

    name: str
    kind: str
    default: str | None = None
    about: str = ""
    choices: tuple[str, ...] = ()
    told: str = ""


class Entry(NamedTuple):
    """One job.

    Attributes:
        name: as it is written.
        group: the heading it is listed under.
        summary: one sentence.
        keys: what it takes.
    """

    name: str
    group: str
    summary: str
    keys: tuple[Key, ...]


class Catalogue(NamedTuple):
    """Everything that can be written.

    Attributes:
        jobs: in the order they are listed.
        keys: of the configuration, which every job takes.
    """

    jobs: tuple[Entry, ...]
    keys: tuple[Key, ...]

    def find(self, name: str) -> Entry | None:
        """The job of that name."""
        return next((entry for entry in self.jobs if entry.name == name), None)


@cache
def catalogue() -> Catalogue:
    """As it was written."""
    known = json.loads(FILE.read_text(encoding="utf-8"))
    jobs = tuple(
        Entry(name, group, summary, tuple(map(_key, keys)))
        for name, group, summary, keys in known["jobs"]
    )
    return Catalogue(jobs, tuple(map(_key, known["keys"])))


def _key(row: list[Any]) -> Key:
    name, kind, default, about, choices, told = row
    return Key(name, kind, default, about, tuple(choices), told)
