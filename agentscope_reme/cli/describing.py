"""Writes ``catalogue.json`` from the calls themselves; run it when a call or a setting changes."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator, Mapping
from types import UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin

from pydantic import SecretStr

from agentscope_reme.cli.catalogue import FILE, Catalogue, Entry, Key
from agentscope_reme.cli.kinds import in_words
from agentscope_reme.configuration import schema
from agentscope_reme.configuration.loading import load
from agentscope_reme.configuration.showing import shown
from agentscope_reme.jobs import Job, jobs

GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "Search": ("search", "recall", "node_search", "proactive", "traverse", "graph_snapshot"),
    "Conversations and their distillation": (
        "record",
        "auto_memory",
        "auto_memory_cc",
        "auto_resource",
        "auto_dream",
    ),
    "What you say outright": ("remember", "forget", "retention"),
    "Files": (
        "read",
        "read_image",
        "write",
        "edit",
        "delete",
        "move",
        "list",
        "stat",
        "list_tags",
        "frontmatter_read",
        "frontmatter_update",
        "frontmatter_delete",
        "daily_list",
        "daily_write",
        "daily_reindex",
    ),
    "What happened, and taking it back": ("history", "diff", "undo"),
    "Care": ("status", "doctor", "reindex", "optimize_index"),
}
"""The headings of ``--help``, and what stands below them."""

_OTHERS: Final = "More"


def described() -> Catalogue:
    """The catalogue as the calls and the configuration say it."""
    known = jobs()
    order = [*(name for names in GROUPS.values() for name in names), *known]
    names = [name for name in dict.fromkeys(order) if name in known]
    return Catalogue(tuple(_entry(known[name]) for name in names), tuple(_configuration_keys()))


def _entry(job: Job) -> Entry:
    group = next((head for head, names in GROUPS.items() if job.name in names), _OTHERS)
    keys = tuple(
        Key(
            name,
            inspect.formatannotation(kind),
            repr(job.defaults[name]) if name in job.defaults else None,
            job.described.get(name, ""),
            choices_of(kind),
            in_words(kind),
        )
        for name, kind in job.types.items()
    )
    return Entry(job.name, group, job.summary, keys)


def _configuration_keys() -> Iterator[Key]:
    values = {row.key: row.value for row in shown(load({"config": "default"}, environ={}))}
    words = ("cli", "default")
    yield Key("config", "str", "'reme.yaml'", "A file, `cli` or `default`.", words, in_words(str))
    for name in schema.all_keys():
        kind = schema.kind_of(name)
        told = "str" if kind is SecretStr else inspect.formatannotation(kind)
        yield Key(name, told, repr(values[name]), "", choices_of(kind), in_words(kind))


def choices_of(kind: Any) -> tuple[str, ...]:
    """The words a value may be, where they are few."""
    if kind is bool:
        return ("true", "false")
    if get_origin(kind) is Literal:
        return tuple(map(str, get_args(kind)))
    if get_origin(kind) in (Union, UnionType):
        return tuple(word for one in get_args(kind) for word in choices_of(one))
    return ()


def main() -> None:
    """Write the file."""
    FILE.write_text(written(described()), encoding="utf-8")


def written(catalogue: Catalogue) -> str:
    """As the file holds it, a line for each job and key."""
    jobs = ",\n".join(_line(entry) for entry in catalogue.jobs)
    keys = ",\n".join(_line(key) for key in catalogue.keys)
    return f'{{"jobs": [\n{jobs}\n],\n"keys": [\n{keys}\n]}}\n'


def _line(row: Entry | Key) -> str:
    return json.dumps(row, ensure_ascii=False)


if __name__ == "__main__":
    main()
