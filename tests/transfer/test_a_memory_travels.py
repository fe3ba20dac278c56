"""One archive holds the whole memory, as of one moment, and makes the same memory elsewhere."""

from __future__ import annotations

import json
import os
import threading
import zipfile
from pathlib import Path

import pytest

from agentscope_reme import ReMe
from agentscope_reme.errors import BadInput
from agentscope_reme.transfer.archive import MANIFEST, is_archive, restore_archive
from agentscope_reme.transfer.exporting import export_memory
from agentscope_reme.transfer.importing import import_memory
from agentscope_reme.workspace import Workspace
from tests.transfer.conftest import QUIET, files_of, write_zip


@pytest.fixture
async def lived_in(memory: ReMe) -> ReMe:
    await memory.write("digest/wiki/茶.md", "Tea is [[daily/2026-06-20/cup.md]].\n")
    await memory.write("daily/2026-06-20/cup.md", "A cup.\n")
    await memory.record("s1", [{"id": "1", "role": "user", "content": "The zebra sleeps."}])
    await memory.write("digest/wiki/gone.md", "Deleted secret.\n")
    await memory.delete("digest/wiki/gone.md")
    return memory


async def test_the_same_memory_elsewhere(lived_in: ReMe, tmp_path: Path) -> None:
    exported = await export_memory(lived_in, tmp_path / "out")
    place = tmp_path / "out.zip"
    assert exported.path == str(place)
    assert is_archive(place)
    assert b"Deleted secret" not in b"".join(_contents(place).values())
    restored = Workspace(tmp_path / "elsewhere")
    restore_archive(place, restored)
    assert files_of(restored.root) == files_of(lived_in.workspace.root)
    async with ReMe(restored.root, settings=QUIET, clock=lived_in.clock) as other:
        assert (await other.search("zebra sleeps")).hits
        assert (await other.doctor()).success
        assert other.application.components.logs.waiting() == ["s1"]


async def test_history_comes_along_when_asked_for(lived_in: ReMe, tmp_path: Path) -> None:
    await export_memory(lived_in, tmp_path / "out.zip", history=True)
    restored = Workspace(tmp_path / "elsewhere")
    restore_archive(tmp_path / "out.zip", restored)
    async with ReMe(restored.root, settings=QUIET, clock=lived_in.clock) as other:
        newest = (await other.history("digest/wiki/gone.md")).changes[0]
        await other.undo(newest.change_id)
        assert (await other.read("digest/wiki/gone.md")).success


async def test_users_are_not_part_of_it(tmp_path: Path) -> None:
    root = tmp_path / "memory"
    async with ReMe(root, user="ann", settings=QUIET) as ann:
        await ann.write("digest/wiki/a.md", "Ann's zebra.\n")
    async with ReMe(root, settings=QUIET) as nobody:
        await export_memory(nobody, tmp_path / "out.zip")
    assert b"Ann's zebra" not in b"".join(_contents(tmp_path / "out.zip").values())


async def test_an_archive_into_a_memory_in_use_adds_what_is_missing(
    lived_in: ReMe, tmp_path: Path
) -> None:
    await export_memory(lived_in, tmp_path / "out.zip")
    async with ReMe(tmp_path / "other", settings=QUIET, clock=lived_in.clock) as other:
        await other.write("digest/wiki/茶.md", "Mine.\n")
        found = await import_memory(other, tmp_path / "out.zip")
        assert found.kept == ["digest/wiki/茶.md"]
        assert found.turns == 1
        assert (await other.search("zebra sleeps")).hits


async def test_one_moment_even_while_others_move_files(lived_in: ReMe, tmp_path: Path) -> None:
    """A file that is moved back and forth is in the archive once, wherever it was."""
    vault = lived_in.application.components.vault
    await lived_in.write("digest/wiki/a.md", "Wanders.\n")
    ended = threading.Event()

    def wander() -> None:
        places = ["digest/wiki/a.md", "digest/procedure/a.md"]
        while not ended.is_set():
            vault.move(*places, actor="user")
            places.reverse()

    mover = threading.Thread(target=wander)
    mover.start()
    try:
        for number in range(5):
            await export_memory(lived_in, tmp_path / f"{number}.zip")
    finally:
        ended.set()
        mover.join()
    for number in range(5):
        names = _contents(tmp_path / f"{number}.zip")
        assert sum(name.endswith("/a.md") for name in names) == 1
    assert not list(lived_in.workspace.metadata.glob("export-*"))


async def test_a_log_that_grows_is_cut_at_a_line(lived_in: ReMe, tmp_path: Path) -> None:
    log = lived_in.workspace.root / "session" / "dialog" / "s1.jsonl"
    with log.open("ab") as file:
        file.write(b'{"torn')
    await export_memory(lived_in, tmp_path / "out.zip")
    packed = _contents(tmp_path / "out.zip")["session/dialog/s1.jsonl"]
    assert packed.endswith(b"\n")
    assert b"zebra" in packed


async def test_places_where_something_stands_are_refused(lived_in: ReMe, tmp_path: Path) -> None:
    place = tmp_path / "out.zip"
    await export_memory(lived_in, place)
    before = place.read_bytes()
    with pytest.raises(BadInput, match="something stands there"):
        await export_memory(lived_in, place)
    with pytest.raises(BadInput, match="in the memory itself"):
        await export_memory(lived_in, lived_in.workspace.root / "daily" / "out.zip")
    with pytest.raises(BadInput, match="nothing stands yet"):
        restore_archive(place, lived_in.workspace)
    assert place.read_bytes() == before
    await export_memory(lived_in, place, overwrite=True)


@pytest.mark.parametrize("fault", ["missing", "changed", "longer", "climbs", "no manifest", "cut"])
async def test_a_damaged_archive_makes_nothing(lived_in: ReMe, tmp_path: Path, fault: str) -> None:
    await export_memory(lived_in, tmp_path / "out.zip")
    files = _contents(tmp_path / "out.zip")
    manifest = json.loads(files[MANIFEST])
    path = "digest/wiki/茶.md"
    match fault:
        case "missing":
            del files[path]
        case "changed":
            files[path] = files[path].replace(b"Tea", b"Wee")
        case "longer":
            files[path] += b"more"
        case "climbs":
            manifest["files"]["../../evil.md"] = manifest["files"][path]
            files["../../evil.md"] = files[path]
        case "no manifest":
            del files[MANIFEST]
    if MANIFEST in files:
        files[MANIFEST] = json.dumps(manifest).encode()
    bad = write_zip(tmp_path / "bad.zip", files)
    if fault == "cut":
        bad.write_bytes(bad.read_bytes()[:-40])
    with pytest.raises(BadInput):
        restore_archive(bad, Workspace(tmp_path / "elsewhere"))
    assert sorted(os.listdir(tmp_path)) == ["bad.zip", "memory", "out.zip"]


def _contents(place: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(place) as archive:
        return {name: archive.read(name) for name in archive.namelist()}
