"""Indexed files for tests, made by the real indexer."""

from __future__ import annotations

from agentscope_reme.settings import Settings
from agentscope_reme.store.indexer import FileIndexer
from agentscope_reme.store.records import IndexedFile

INDEXER = FileIndexer(Settings(chunk_byte_size=200))


def indexed(path: str, text: str, *, mtime_ns: int = 1) -> IndexedFile:
    """A file as the store takes it."""
    return INDEXER.index(path, text.encode(), mtime_ns=mtime_ns)


def card(name: str = "", description: str = "", body: str = "", tags: str = "") -> str:
    """The text of a file with front matter."""
    lines = [f"name: {name}", f"description: {description}", f"memory_tags: [{tags}]"]
    return "---\n" + "\n".join(lines) + f"\n---\n{body}"


def rare(number: int) -> str:
    """A word no other number has, without digits or stems."""
    return "zq" + "".join("bcdfghjklm"[int(digit)] for digit in f"{number:03}")
