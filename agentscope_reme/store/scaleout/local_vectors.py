"""Vectors a local index of a workspace was given: paid for once, and taken over by a shared one."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Collection, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from agentscope_reme.files.disk import Disk
from agentscope_reme.store.generations import Generations
from agentscope_reme.store.index_schema import SCHEMA_VERSION
from agentscope_reme.store.vector_cache import VectorCache
from agentscope_reme.store.vector_spaces import spaces, table_of
from agentscope_reme.store.vectors import Floats, unpacked, widened
from agentscope_reme.workspace import Workspace

_log: Final = logging.getLogger(__name__)
_AT_ONCE: Final = 500


class LocalVectors:
    """Reads ``metadata/embeddings.db`` and the local index, where there is one.

    Args:
        workspace: whose.
        most: as for `VectorCache`.
    """

    def __init__(self, workspace: Workspace, *, most: int) -> None:
        self._cache: Final = VectorCache(workspace.metadata / "embeddings.db", most=most)
        self._generations: Final = Generations(workspace, Disk())

    def spaces(self) -> list[str]:
        """The names of the spaces with vectors."""
        found: list[str] = []
        place = self._place()
        if place is not None:
            with closing(_opened(place)) as connection:
                found = _spaces(connection)
        return list(dict.fromkeys([*found, *self._cache.spaces()]))

    def get(self, space_id: str, text_hashes: Sequence[str]) -> dict[str, Floats]:
        """Those vectors of some texts that are there, at length 1."""
        found: dict[str, Floats] = {}
        for start in range(0, len(text_hashes), _AT_ONCE):
            some = text_hashes[start : start + _AT_ONCE]
            found |= self._cache.get(space_id, some)
            missing = [key for key in some if key not in found]
            if missing:
                found |= self._of_index(space_id, missing)
        return found

    def forget_others(self, text_hashes: Collection[str]) -> None:
        """Let go of the vectors of all other texts in the cache.

        Raises:
            StorageFailed: its file could not be written.
        """
        self._cache.keep_only([bytes.fromhex(key) for key in text_hashes])

    def _of_index(self, space_id: str, text_hashes: Sequence[str]) -> dict[str, Floats]:
        place = self._place()
        if place is None:
            return {}
        with closing(_opened(place)) as connection:
            if space_id not in _spaces(connection):
                return {}
            marks = ", ".join("?" * len(text_hashes))
            rows = connection.execute(
                f"SELECT text_hash, vector FROM {table_of(connection, space_id)} "
                f"WHERE text_hash IN ({marks})",
                [bytes.fromhex(key) for key in text_hashes],
            ).fetchall()
        if not rows:
            return {}
        keys, blobs = zip(*rows, strict=True)
        return {key.hex(): row for key, row in zip(keys, widened(unpacked(blobs)), strict=True)}

    def _place(self) -> Path | None:
        return self._generations.current()


def _opened(place: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{place.as_uri()}?mode=ro", uri=True)


def _spaces(connection: sqlite3.Connection) -> list[str]:
    """The spaces of an index; none of one that is laid out otherwise or cannot be read."""
    try:
        row = connection.execute("SELECT value FROM meta WHERE key = 'schema'").fetchone()
        return spaces(connection) if row is not None and row[0] == SCHEMA_VERSION else []
    except sqlite3.DatabaseError as error:
        _log.warning("the local index is left alone: %s", error)
        return []
