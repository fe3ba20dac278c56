"""A reader in another process sees a write at its next search, also after a change of places."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from statistics import median

import pytest

from agentscope_reme.store.local_store import LocalFileStore
from agentscope_reme.workspace import Workspace
from tests.store.builders import indexed, rare

READER = """
import json, sys
from agentscope_reme.settings import Settings
from agentscope_reme.store.local_store import LocalFileStore
from agentscope_reme.workspace import Workspace
store = LocalFileStore(Workspace(sys.argv[1]), settings=Settings())
store.open()
store.keyword_search("warm", limit=1)
print(json.dumps("ready"), flush=True)
for query in sys.stdin:
    found = store.keyword_search(query.strip(), limit=9)
    print(json.dumps([[hit.path, hit.score] for hit in found]), flush=True)
store.close()
"""
SOON_SECONDS = 0.1


class Reader:
    """Another process that answers queries one after the other."""

    def __init__(self, workspace: Workspace) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", READER, str(workspace.root)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._line() == "ready"

    def ask(self, query: str) -> list[list[object]]:
        assert self.process.stdin is not None
        self.process.stdin.write(query + "\n")
        self.process.stdin.flush()
        found: list[list[object]] = self._line()
        return found

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.process.wait(20) == 0

    def _line(self):  # type: ignore[no-untyped-def]
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())


@pytest.fixture
def reader(workspace: Workspace, local_store: LocalFileStore) -> Iterator[Reader]:
    local_store.apply([indexed(f"digest/wiki/{n}.md", f"apple {rare(n)}") for n in range(200)])
    reader = Reader(workspace)
    yield reader
    reader.close()
    reader.process.stdout.close()  # type: ignore[union-attr]


def seen_after(store: LocalFileStore, reader: Reader, number: int) -> float:
    """Write a file, ask at once, and tell how long the answer took, in seconds."""
    path, word = f"daily/2026-06-20/{number}.md", rare(number)
    store.apply([indexed(path, f"a note about {word}")])
    started = time.perf_counter()
    found = reader.ask(word)
    took = time.perf_counter() - started
    assert [hit[0] for hit in found] == [path]
    return took


def test_every_write_is_seen_at_once(local_store: LocalFileStore, reader: Reader) -> None:
    took = [seen_after(local_store, reader, 300 + n) for n in range(9)]
    assert median(took) < SOON_SECONDS


def test_a_deletion_is_seen_at_once(local_store: LocalFileStore, reader: Reader) -> None:
    assert len(reader.ask(rare(7))) == 1
    local_store.apply([], ["digest/wiki/7.md"])
    assert reader.ask(rare(7)) == []


def test_a_new_generation_is_turned_to_at_once(local_store: LocalFileStore, reader: Reader) -> None:
    seen_after(local_store, reader, 300)
    for round_number in range(3):
        shadow = local_store.shadow()
        shadow.store.apply([indexed(f"digest/wiki/{n}.md", f"pear {rare(n)}") for n in range(200)])
        local_store.apply([indexed("late.md", f"late {rare(500 + round_number)}")])
        missed = shadow.missed()
        assert missed == ["late.md"]
        shadow.store.apply([indexed("late.md", f"late {rare(500 + round_number)}")])
        shadow.ready()
        assert shadow.take_over(lambda _missed: None)
        started = time.perf_counter()
        assert [hit[0] for hit in reader.ask(rare(500 + round_number))] == ["late.md"]
        assert time.perf_counter() - started < 5 * SOON_SECONDS
        assert reader.ask("apple") == []
        took = [seen_after(local_store, reader, 600 + 10 * round_number + n) for n in range(3)]
        assert median(took) < SOON_SECONDS


def test_both_give_the_same_scores(local_store: LocalFileStore, reader: Reader) -> None:
    seen_after(local_store, reader, 300)
    own = [[hit.path, hit.score] for hit in local_store.keyword_search("apple note", limit=9)]
    assert reader.ask("apple note") == own
