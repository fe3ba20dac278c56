"""ZIP archives as people, machines and attackers make them: what is meant comes in, no bomb."""

from __future__ import annotations

import json
import struct
import warnings
import zipfile
import zlib
from pathlib import Path

import pytest

from agentscope_reme import ReMe
from agentscope_reme.errors import BadInput, StorageFailed
from agentscope_reme.transfer import sources
from agentscope_reme.transfer.exporting import export_memory
from agentscope_reme.transfer.importing import import_memory
from tests.transfer.conftest import files_of, write_zip

TURN = {"id": "1", "role": "user", "name": "u", "blocks": [{"type": "text", "text": "zebra"}]}
WORKSPACE = {
    "digest/wiki/zebra.md": b"The zebra sleeps.",
    "daily/2026-06-19/talk.md": b"x",
    "session/dialog/talk.jsonl": json.dumps(TURN).encode() + b"\n",
}


def below(top: str) -> dict[str, bytes]:
    return {f"{top}/{name}": data for name, data in WORKSPACE.items()}


@pytest.mark.parametrize("top", ["backup", ".reme", "./.reme", "my memory"])
@pytest.mark.parametrize("on_a_mac", [False, True])
async def test_a_workspace_packed_with_its_folder_is_a_workspace(
    memory: ReMe, tmp_path: Path, top: str, on_a_mac: bool
) -> None:
    files = below(top)
    if on_a_mac:
        files |= {f"__MACOSX/{top}/digest/wiki/._zebra.md": b"forks", f"{top}/.DS_Store": b"x"}
    found = await import_memory(memory, write_zip(tmp_path / "old.zip", files))
    assert (found.format, found.files, found.turns, found.failed) == ("reme", 2, 1, [])
    assert files_of(memory.workspace.root)["digest/wiki/zebra.md"] == b"The zebra sleeps."
    assert "old" not in found.answer


async def test_one_folder_of_a_workspace_keeps_its_name(memory: ReMe, tmp_path: Path) -> None:
    for number, name in enumerate(("digest/wiki/a.md", "memory/2026-06-19.md")):
        found = await import_memory(memory, write_zip(tmp_path / f"{number}.zip", {name: b"x"}))
        assert found.format == "reme"
        assert name in files_of(memory.workspace.root)


async def test_a_packed_vault_with_a_daily_folder_is_a_vault(memory: ReMe, tmp_path: Path) -> None:
    files = {
        "Notes/.obsidian/app.json": b"{}",
        "Notes/daily/2024-01-01.md": b"x",
        "Notes/zebra.md": b"[[2024-01-01]]",
    }
    found = await import_memory(memory, write_zip(tmp_path / "v.zip", files))
    assert (found.format, found.files, found.links_resolved) == ("obsidian", 2, 1)


async def test_names_with_steps_on_the_spot(memory: ReMe, tmp_path: Path) -> None:
    files = {"./digest/wiki/a.md": b"x", "digest//wiki/./b.md": b"y"}
    assert (await import_memory(memory, write_zip(tmp_path / "v.zip", files))).files == 2


@pytest.mark.parametrize(
    "name", ["/etc/a.md", "../a.md", "a/../../b.md", "C:/a.md", "a\\..\\..\\b.md"]
)
async def test_a_name_that_leads_out_is_refused(memory: ReMe, tmp_path: Path, name: str) -> None:
    place = write_zip(tmp_path / "v.zip", {"digest/ok.md": b"x", name: b"x"})
    with pytest.raises(BadInput, match="leads out"):
        await import_memory(memory, place)


async def test_two_files_of_one_name_are_told(memory: ReMe, tmp_path: Path) -> None:
    place = tmp_path / "v.zip"
    with zipfile.ZipFile(place, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, said in (("a.md", "one"), ("a.md", "two"), ("b.md", "x"), ("./b.md", "x")):
            archive.writestr(name, said)
    found = await import_memory(memory, place)
    assert [one.item for one in found.failed] == ["a.md"]
    assert "two files of this name" in found.answer
    assert found.files == 1


async def test_a_name_stated_beside_the_entry(memory: ReMe, tmp_path: Path) -> None:
    """Info-ZIP's Unicode path field, which newer versions of Python read by themselves."""
    stated = "你好.md"
    raw = b"XXXXXX.md"
    body = struct.pack("<BI", 1, zlib.crc32(raw)) + stated.encode()
    info = zipfile.ZipInfo(raw.decode())
    info.extra = struct.pack("<HH", 0x7075, len(body)) + body
    place = tmp_path / "v.zip"
    with zipfile.ZipFile(place, "w") as archive:
        archive.writestr(info, "x")
        archive.writestr("b.md", "y")
    assert (await import_memory(memory, place)).files == 2


def a_bomb(place: Path, files: int, mebibytes: int) -> Path:
    zeros = bytes(1024**2)
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for number in range(files):
            with archive.open(f"notes/{number}.md", "w") as file:
                for _ in range(mebibytes):
                    file.write(zeros)
    return place


async def test_an_archive_that_swells_is_refused(memory: ReMe, tmp_path: Path) -> None:
    place = a_bomb(tmp_path / "bomb.zip", files=8, mebibytes=16)
    assert place.stat().st_size < 1024**2
    with pytest.raises(BadInput, match="times what it has itself") as told:
        await import_memory(memory, place)
    assert "134,217,728 bytes" in str(told.value)
    assert "Unpack it elsewhere" in str(told.value)


async def test_a_small_archive_may_pack_well(memory: ReMe, tmp_path: Path) -> None:
    place = a_bomb(tmp_path / "small.zip", files=2, mebibytes=1)
    assert (await import_memory(memory, place)).files == 2


async def test_no_archive_is_unpacked_beyond_all_measure(
    memory: ReMe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "_LARGEST_ARCHIVE_BYTES", 1000)
    place = write_zip(tmp_path / "v.zip", {"a.md": b"x" * 600, "b.md": b"y" * 401})
    with pytest.raises(BadInput, match="1,001 bytes"):
        await import_memory(memory, place)


async def test_sizes_nobody_can_hold_are_refused(memory: ReMe, tmp_path: Path) -> None:
    """The directory says 16 files of more than 1 GiB; not one of them is read."""
    place = write_zip(tmp_path / "v.zip", {f"{number:02}.md": b"x" for number in range(16)})
    size = struct.pack("<I", 2**30 + 1)
    data = place.read_bytes()
    at = data.index(b"PK\x01\x02")
    while at >= 0:
        data = data[: at + 24] + size + data[at + 28 :]
        at = data.find(b"PK\x01\x02", at + 4)
    place.write_bytes(data)
    with pytest.raises(BadInput, match="bytes"):
        await import_memory(memory, place)


async def test_a_failed_export_names_what_was_asked_for(memory: ReMe, tmp_path: Path) -> None:
    await memory.write("digest/wiki/a.md", "x")
    (tmp_path / "taken").write_text("no folder")
    for place in (tmp_path / "taken/out.zip", tmp_path / "nowhere/out.zip"):
        with pytest.raises(StorageFailed) as told:
            await export_memory(memory, place)
        assert str(place) in str(told.value)
        assert ".tmp" not in str(told.value)
        assert "Errno" not in str(told.value)
