"""The database dies in the middle of the work, and comes back."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentscope_reme import ReMe
from agentscope_reme.errors import StorageFailed
from agentscope_reme.settings import Settings
from agentscope_reme.workspace import Workspace
from tests.scaleout.conftest import index_of
from tests.scaleout.notes import INDEXER
from tests.scaleout.servers import MilvusServer, SeekdbServer
from tests.store.builders import rare
from tests.store.reference_store import ReferenceStore

pytestmark = [pytest.mark.scaleout, pytest.mark.crash]
QUIET = Settings(watch=False, chunk_byte_size=200)
NOTES = 120


@pytest.fixture
def server(kind: str, tmp_path: Path) -> Iterator[SeekdbServer | MilvusServer]:
    """A server of this test's own, since it is killed."""
    make = SeekdbServer if kind == "seekdb" else MilvusServer
    with make(tmp_path / "server") as started:
        yield started


def fill(folder: Path) -> dict[str, str]:
    texts = {}
    for number in range(NOTES):
        path = f"digest/wiki/note{number}.md"
        texts[path] = (
            f"# Note {number}\n\n" + f"words of {rare(number)} and apples, 苹果。\n\n" * 12
        )
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(texts[path], encoding="utf-8")
    return texts


async def test_an_index_begun_before_a_crash_of_the_server_ends_up_as_the_files_are(
    server: SeekdbServer | MilvusServer, tmp_path: Path
) -> None:
    folder = tmp_path / "memory"
    workspace = Workspace(folder)
    workspace.create()
    texts = fill(folder)
    index = index_of(server, "crash")
    store = index(workspace, QUIET)
    store.open()
    files = [INDEXER.index(path, text.encode(), mtime_ns=1) for path, text in texts.items()]
    stored = threading.Event()
    failures: list[StorageFailed] = []

    def fill_index() -> None:
        try:
            for file in files * 20:
                store.apply([file])
                stored.set()
        except StorageFailed as error:
            failures.append(error)

    writer = threading.Thread(target=fill_index)
    writer.start()
    assert stored.wait(60)
    server.kill()
    writer.join()
    assert "files are safe" in str(failures[0])
    with pytest.raises(StorageFailed):
        store.stamps()
    server.start()
    assert store.stamps()  # the same store, over a new connection
    store.close()
    async with ReMe(folder, settings=QUIET, file_store=index) as memory:
        await memory.write("digest/wiki/later.md", "written after the crash")
        assert (await memory.doctor()).success
    expected = ReferenceStore()
    for path in [*texts, "digest/wiki/later.md"]:
        place = folder / path
        data, mtime = place.read_bytes(), place.stat().st_mtime_ns
        expected.apply([INDEXER.index(path, data, mtime_ns=mtime)])
    store.open()
    try:
        assert store.nodes() == expected.nodes()
        for path in texts:
            assert store.chunks(path) == expected.chunks(path)
        hits = {hit.chunk_id for hit in store.keyword_search("apples", limit=5000)}
        assert hits == {hit.chunk_id for hit in expected.keyword_search("apples", limit=5000)}
        found = store.keyword_search(rare(77), limit=5000)
        assert {hit.chunk_id for hit in found} == {
            c.id for c in store.chunks("digest/wiki/note77.md")
        }
    finally:
        store.close()


async def test_an_outage_costs_no_call_its_change(
    server: SeekdbServer | MilvusServer, tmp_path: Path
) -> None:
    index = index_of(server, "outage")
    async with ReMe(tmp_path / "memory", settings=QUIET, file_store=index) as memory:
        await memory.write("digest/wiki/before.md", "before the outage")
        server.kill()
        result = await memory.write("digest/wiki/meanwhile.md", "during the outage")
        assert result.success
        assert not result.indexed
        with pytest.raises(StorageFailed, match="shared index"):
            await memory.search("outage")
        server.start()
        await memory.write("digest/wiki/after.md", "after the outage")
        found = await memory.search("outage")
        assert {hit.path for hit in found.hits} >= {"digest/wiki/before.md", "digest/wiki/after.md"}
    async with ReMe(tmp_path / "memory", settings=QUIET, file_store=index) as memory:
        found = await memory.search("outage")
        assert len(found.hits) == 3
