"""A job as the catalogue knows it: enough to type its arguments, without loading what runs it."""

from __future__ import annotations

import collections.abc
import os
import typing
from types import MappingProxyType, SimpleNamespace
from typing import Any, Final

import agentscope_reme.messages  # some types are spelled with what it holds
from agentscope_reme.cli.catalogue import Entry
from agentscope_reme.jobs import Job

_NAMES: Final = {
    "agentscope_reme": agentscope_reme,
    "collections": collections,
    "os": os,
    "typing": typing,
    "Literal": typing.Literal,
    "Optional": typing.Optional,
}
"""What the types of the catalogue are spelled with."""


def known_job(entry: Entry) -> Job:
    """The job of an entry; its defaults are text, for they are only shown."""
    spelled = SimpleNamespace(__annotations__={key.name: key.kind for key in entry.keys})
    types: dict[str, Any] = typing.get_type_hints(spelled, globalns=_NAMES)
    defaults = {key.name: key.default for key in entry.keys if key.default is not None}
    return Job(entry.name, entry.summary, MappingProxyType(types), MappingProxyType(defaults))
