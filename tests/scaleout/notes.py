"""Files whose words say which version of them they are, and whether an index shows them whole."""

from __future__ import annotations

from agentscope_reme.settings import Settings
from agentscope_reme.store.base import BaseFileStore
from agentscope_reme.store.indexer import FileIndexer
from agentscope_reme.store.records import IndexedFile

FILES = 6
PARTS = 8
INDEXER = FileIndexer(Settings(chunk_byte_size=200))


def path_of(number: int) -> str:
    return f"digest/wiki/note{number}.md"


def note(number: int, version: int) -> str:
    """A file of several chunks, each with the same version in it."""
    part = f"common words of note {number} in version v{version}x " + "and more of them " * 6
    return "\n\n".join(f"## Part {p}\n\n{part}" for p in range(PARTS))


def indexed_notes(version: int) -> list[IndexedFile]:
    return [
        INDEXER.index(path_of(n), note(n, version).encode(), mtime_ns=version) for n in range(FILES)
    ]


def versions_shown(store: BaseFileStore) -> dict[str, set[str]]:
    """By file, the versions its stored and its found chunks belong to."""
    shown: dict[str, set[str]] = {}
    for n in range(FILES):
        shown[path_of(n)] = {_version(chunk.text) for chunk in store.chunks(path_of(n))}
    for hit in store.keyword_search("common words", limit=FILES * PARTS):
        shown[hit.path].add(_version(hit.text))
    return shown


def _version(text: str) -> str:
    return next(word for word in text.split() if word.startswith("v") and word.endswith("x"))
