"""The files of a store in memory: where their chunks stand, and which pass a filter."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import starmap
from typing import Any, Final

import numpy as np

from agentscope_reme.store.contradiction import Contradiction
from agentscope_reme.store.file_entry import FileEntry
from agentscope_reme.store.filters import (
    asks_for_contents,
    content_matches,
    path_matches,
    plain_value,
)
from agentscope_reme.store.postings import Bools, Ints
from agentscope_reme.store.records import SearchFilter
from agentscope_reme.store.stored_files import Heads

_REMEMBERED_FILTERS: Final = 16
_SPARE: Final = 1024

Contents = Callable[[SearchFilter], Mapping[int, tuple[Collection[str], Mapping[str, Any]]]]
"""Reads, by file number, the tags and front matter a filter needs."""
Owners = Callable[[Ints], Ints]
"""The file number of each slot."""


class FileTable:
    """Files by path and by number. Filters are evaluated once and then kept current."""

    def __init__(self, entries: Iterable[FileEntry] = ()) -> None:
        self._by_path: dict[str, tuple[int, int, int, int]] = {}
        self._paths: dict[int, str] = {}
        self._heads: Heads = {}
        self._masks: dict[tuple[Any, ...], tuple[SearchFilter, Bools]] = {}
        self._last_id = 0
        for entry in entries:
            self._add(entry)

    def __len__(self) -> int:
        return len(self._by_path)

    def get(self, path: str) -> FileEntry | None:
        """The entry of a path."""
        numbers = self._by_path.get(path)
        return None if numbers is None else _entry(path, numbers)

    def entries(self) -> list[FileEntry]:
        """Every file, in no order."""
        return list(starmap(_entry, self._by_path.items()))

    def path(self, file_id: int) -> str:
        """The path of a file number.

        Raises:
            Contradiction: no file has it.
        """
        try:
            return self._paths[file_id]
        except KeyError:
            raise Contradiction(f"the inverted lists name file {file_id}, which is gone") from None

    def know(self, heads: Heads) -> None:
        """Keep what hits show of files, until they change."""
        self._heads.update(heads)

    def heads(self, ids: Iterable[int], read: Callable[[Sequence[int]], Heads]) -> Heads:
        """What hits show of at least these files; read when one of them changed."""
        unknown = [i for i in ids if i not in self._heads]
        if unknown:
            self._heads.update(read(unknown))
        return self._heads

    def put(self, entry: FileEntry, tags: Collection[str], front_matter: Mapping[str, Any]) -> None:
        """Add a file, or say anew what is known of it."""
        self._add(entry)
        for key, (where, mask) in self._masks.items():
            if entry.id >= len(mask):
                mask = np.concatenate((mask, np.zeros(entry.id - len(mask) + _SPARE, np.bool_)))
                self._masks[key] = (where, mask)
            mask[entry.id] = path_matches(where, entry.path) and content_matches(
                where, entry.path, tags, front_matter
            )

    def replace(self, entry: FileEntry) -> None:
        """Know where the chunks of a known file stand now; nothing else of it changed."""
        self._by_path[entry.path] = _numbers(entry)

    def pop(self, path: str) -> FileEntry | None:
        """Remove a file."""
        entry = self.get(path)
        if entry is not None:
            del self._by_path[path]
            del self._paths[entry.id]
            self._heads.pop(entry.id, None)
        return entry

    def owners(self, slots_of: Callable[[int], Sequence[int]]) -> Owners:
        """Tells the file number each slot belongs to; -1 for slots no file has any more.

        Args:
            slots_of: the slots of a file that does not have all of its range.
        """
        entries = self.entries()
        whole = sorted((entry for entry in entries if entry.has_all), key=_first_slot)
        whole = [entry for entry in whole if entry.chunk_count]
        first = np.array([entry.first_slot for entry in whole], np.int64)
        last = np.array([entry.last_slot for entry in whole], np.int64)
        ids = np.array([entry.id for entry in whole], np.int64)
        parts = {e.id: slots_of(e.id) for e in entries if not e.has_all}
        single = np.array([s for slots in parts.values() for s in slots], np.int64)
        owner = np.repeat(np.array(list(parts), np.int64), [len(s) for s in parts.values()])
        order = np.argsort(single)
        single, owner = single[order], owner[order]

        def owners_of(slots: Ints) -> Ints:
            found = _looked_up(slots, first, last, ids)
            return np.where(found < 0, _looked_up(slots, single, single, owner), found)

        return owners_of

    def allowed(self, where: SearchFilter | None, contents: Contents) -> Bools | None:
        """By file number, whether a file passes; ``None`` when every file does."""
        if where is None or where == SearchFilter():
            return None
        key = _key(where)
        known = self._masks.pop(key, None)
        if known is None:
            known = (where, self._evaluate(where, contents))
            if len(self._masks) >= _REMEMBERED_FILTERS:
                del self._masks[next(iter(self._masks))]
        self._masks[key] = known
        return known[1]

    def _evaluate(self, where: SearchFilter, contents: Contents) -> Bools:
        mask = np.zeros(self._last_id + _SPARE, np.bool_)
        passing = [(i, path) for i, path in self._paths.items() if path_matches(where, path)]
        if asks_for_contents(where):
            known = contents(where)
            passing = [
                (i, path)
                for i, path in passing
                if content_matches(where, path, *known.get(i, ((), {})))
            ]
        mask[[file_id for file_id, _path in passing]] = True
        return mask

    def _add(self, entry: FileEntry) -> None:
        self._by_path[entry.path] = _numbers(entry)
        self._paths[entry.id] = entry.path
        self._heads.pop(entry.id, None)
        self._last_id = max(self._last_id, entry.id)


def _numbers(entry: FileEntry) -> tuple[int, int, int, int]:
    """An entry without its path, in a form the garbage collector need not look into."""
    return entry.id, entry.first_slot, entry.last_slot, entry.chunk_count


def _entry(path: str, numbers: tuple[int, int, int, int]) -> FileEntry:
    file_id, *rest = numbers
    return FileEntry(file_id, path, *rest)


def _first_slot(entry: FileEntry) -> int:
    return entry.first_slot


def _looked_up(slots: Ints, first: Ints, last: Ints, ids: Ints) -> Ints:
    """The id of the range each slot is in, of ranges in ascending order; -1 for none."""
    if not len(ids):
        return np.full(len(slots), -1, np.int64)
    at = np.maximum(np.searchsorted(first, slots, "right") - 1, 0)
    inside = (slots >= first[at]) & (slots <= last[at])
    return np.where(inside, ids[at], -1)


def _key(where: SearchFilter) -> tuple[Any, ...]:
    return (
        where.path_prefix,
        where.layers,
        where.exclude_layers,
        where.start_date,
        where.end_date,
        where.tags,
        json.dumps(plain_value(where.fields), sort_keys=True),
        where.paths,
        where.pictures,
    )
