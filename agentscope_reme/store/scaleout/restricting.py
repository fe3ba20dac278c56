"""What of a search filter an engine takes care of, and what is looked at afterwards."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from agentscope_reme.store.filters import (
    asks_for_days,
    check_filter,
    content_matches,
    path_matches,
    plain_value,
)
from agentscope_reme.store.records import SearchFilter
from agentscope_reme.store.scaleout.engine import OPEN, Engine, FoundChunk, Restriction
from agentscope_reme.store.scaleout.opaque_terms import GROUPS
from agentscope_reme.store.scaleout.rows import RAW_LAYER, days_pass, front_matter_of

_NAMED_AT_MOST: Final = 300
"""More files than this are not named in a statement, but looked for among what is found."""

_Key = tuple[int, tuple[str, ...], str, str]
"""Revision, tags, fields and prefix."""
Passes = Callable[[FoundChunk], bool]


@dataclass(frozen=True, slots=True)
class Plan:
    """How a filter is obeyed.

    Attributes:
        groups: of `opaque_terms.GROUPS`, those that may answer.
        only: what the engine leaves out besides.
        passes: whether a found chunk may answer.
    """

    groups: tuple[bool, ...]
    only: Restriction
    passes: Passes

    @property
    def of_texts(self) -> Restriction:
        """What to leave out where words do not tell groups apart."""
        return replace(self.only, raw=self.groups[0]) if len(self.groups) == 1 else self.only


class Planner:
    """Plans filters of one workspace; remembers which files passed the last one.

    One search asks several times: by keyword and by vector, in distilled files and in raw ones.

    Args:
        engine: where the files are.
        workspace: whose.
    """

    def __init__(self, engine: Engine, workspace: str) -> None:
        self._engine: Final = engine
        self._workspace: Final = workspace
        self._last: tuple[_Key, frozenset[str]] | None = None

    def plan(self, where: SearchFilter | None) -> Plan:
        """How to obey a filter.

        Raises:
            BadInput: it could only mislead.
        """
        if where is None:
            return Plan(GROUPS, OPEN, _everything)
        check_filter(where)
        paths, layers = self._paths(where), where.layers
        named = paths if paths is not None and len(paths) <= _NAMED_AT_MOST else None
        told_by_words = layers is None or set(layers) == {RAW_LAYER}
        only = Restriction(
            layers=None if told_by_words else layers, prefix=where.path_prefix or "", paths=named
        )
        groups = tuple(raw for raw in GROUPS if _may_answer(where, raw=raw))
        return Plan(groups, only, lambda found: _passes(where, paths, found))

    def _paths(self, where: SearchFilter) -> frozenset[str] | None:
        """The files that may answer, where that is worth a look: tags and fields pick few."""
        if not where.tags and not where.fields:
            return where.paths
        revision = self._engine.head(self._workspace).revision
        fields = json.dumps(plain_value(where.fields), sort_keys=True)
        key = (revision, where.tags, fields, where.path_prefix or "")
        last = self._last
        found = last[1] if last is not None and last[0] == key else self._look(where)
        self._last = (key, found)
        return found if where.paths is None else found & where.paths

    def _look(self, where: SearchFilter) -> frozenset[str]:
        wanted = SearchFilter(tags=where.tags, fields=where.fields)
        return frozenset(
            file.path
            for file in self._engine.files(self._workspace, where.path_prefix or "")
            if content_matches(wanted, file.path, file.tags, front_matter_of(file.record))
        )


def _everything(found: FoundChunk) -> bool:
    return True


def _may_answer(where: SearchFilter, *, raw: bool) -> bool:
    """Whether any file of a group can pass the conditions on layers."""
    if not raw:
        return where.layers is None or set(where.layers) != {RAW_LAYER}
    return RAW_LAYER not in where.exclude_layers and (
        where.layers is None or RAW_LAYER in where.layers
    )


def _passes(where: SearchFilter, paths: frozenset[str] | None, found: FoundChunk) -> bool:
    if paths is not None and found.path not in paths:
        return False
    if not path_matches(where, found.path):
        return False
    if not asks_for_days(where):
        return True
    dates = SearchFilter(start_date=where.start_date, end_date=where.end_date)
    front = front_matter_of(found.record)
    return content_matches(dates, found.path, (), front) and days_pass(found, where)
