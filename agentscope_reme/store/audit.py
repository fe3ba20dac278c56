"""Compares the inverted lists in memory with the chunks in the database, file by file."""

from __future__ import annotations

import sqlite3
from typing import Final

import numpy as np

from agentscope_reme.store.index_state import IndexState
from agentscope_reme.store.stored_files import load_entries

MISSING: Final = "a chunk cannot be found by its words"
EXTRA: Final = "the inverted lists hold a chunk that is not there"
OTHER_FILES: Final = "memory and disk disagree about which chunks it has"
NO_FILE: Final = "(no file)"
"""Stands for the path of a chunk that belongs to no file."""


def audit_postings(state: IndexState, connection: sqlite3.Connection) -> dict[str, str]:
    """By path, what is wrong with the part of a file that is searched in memory."""
    stored = {entry.path: entry for entry in load_entries(connection)}
    known = {entry.path: entry for entry in state.files.entries()}
    found = {
        path: OTHER_FILES
        for path in stored.keys() | known.keys()
        if stored.get(path) != known.get(path)
    }
    paths = {entry.id: entry.path for entry in (*known.values(), *stored.values())}
    wanted = dict(
        connection.execute("SELECT slot, file_id FROM chunks WHERE searchable").fetchall()
    )
    held = _held(state)
    for slot in wanted.keys() - held.keys():
        found[paths.get(wanted[slot], NO_FILE)] = MISSING
    for slot, owner in held.items():
        if wanted.get(slot) != owner:
            found.setdefault(paths.get(owner, NO_FILE), EXTRA)
    return dict(sorted(found.items()))


def _held(state: IndexState) -> dict[int, int]:
    """The file number of every living document, by slot."""
    held: dict[int, int] = {}
    for part in (*state.index.segments, state.index.tail):
        alive = np.flatnonzero(part.alive)
        held.update(zip(part.slots[alive].tolist(), part.owners[alive].tolist(), strict=True))
    return held
