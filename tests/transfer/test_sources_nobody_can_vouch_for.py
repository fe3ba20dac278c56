"""Odd, broken and hostile sources: what can be read comes in, the rest is told, nothing breaks."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import struct
import unicodedata
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme import ReMe
from agentscope_reme.errors import BadInput
from agentscope_reme.transfer.archive import MANIFEST, is_archive, restore_archive
from agentscope_reme.transfer.exporting import export_memory
from agentscope_reme.transfer.importing import import_memory
from agentscope_reme.workspace import Workspace
from tests.transfer.conftest import (
    chatgpt_export,
    chatgpt_node,
    files_of,
    write_json,
    write_zip,
)


def vault_of(root: Path, files: Mapping[str, bytes | str]) -> Path:
    for name, said in files.items():
        place = root / "Vault" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(said.encode() if isinstance(said, str) else said)
    return root / "Vault"


def claude_turn(**fields: Any) -> dict[str, Any]:
    return {"uuid": "m", "sender": "human", "text": "hello", **fields}


WITH_SOUND_TURN = chatgpt_node("sound", "odd", "user", ["The zebra sleeps."], 1.7e9)


@pytest.mark.parametrize(
    "fields",
    [
        {"metadata": [1]},
        {"author": {"role": ["user"]}},
        {"author": "user"},
        {"content": {"content_type": "text", "parts": 5}},
        {"content": {"content_type": "thoughts", "thoughts": 5}},
        {"content": {"content_type": "thoughts", "thoughts": ["x", {"content": None}]}},
        {"create_time": 10**400},
        {"create_time": ["yesterday"]},
    ],
)
async def test_an_odd_turn_does_not_keep_the_others_out(
    memory: ReMe, tmp_path: Path, fields: dict[str, Any]
) -> None:
    odd = chatgpt_node("odd", None, "user", ["odd"], **fields)
    source = write_json(tmp_path / "c.json", [chatgpt_export(odd, WITH_SOUND_TURN, last="sound")])
    await import_memory(memory, source)
    assert (await memory.search("zebra")).hits


@pytest.mark.parametrize(
    "turn",
    [claude_turn(sender=["human"]), claude_turn(attachments=5), claude_turn(content=5), None],
)
async def test_so_does_an_odd_turn_of_claude(memory: ReMe, tmp_path: Path, turn: Any) -> None:
    sound = claude_turn(uuid="s", text="The zebra sleeps.")
    rows = [{"uuid": "u", "chat_messages": [turn, sound]}]
    await import_memory(memory, write_json(tmp_path / "c.json", rows))
    assert (await memory.search("zebra")).hits


async def test_two_turns_of_one_id_are_two_turns(memory: ReMe, tmp_path: Path) -> None:
    turns = [claude_turn(text="The zebra sleeps."), claude_turn(text="The okapi wakes.")]
    source = write_json(tmp_path / "c.json", [{"uuid": "u", "chat_messages": turns}])
    assert (await import_memory(memory, source)).turns == 2
    again = await import_memory(memory, source)
    assert (again.turns, again.duplicates) == (0, 2)
    assert (await memory.search("zebra")).hits


async def test_a_branch_whose_end_is_missing_is_the_newest_one(
    memory: ReMe, tmp_path: Path
) -> None:
    export = chatgpt_export(chatgpt_node("a", None, "user", ["zebra"]), last="gone")
    found = await import_memory(memory, write_json(tmp_path / "c.json", [export]))
    assert found.turns == 1


async def test_talks_of_files_with_one_name_stay_apart(memory: ReMe, tmp_path: Path) -> None:
    for folder, said in (("a", "zebra"), ("b", "okapi")):
        turns = [{"speaker": "A", "dia_id": "D1:1", "text": said}] * 2
        late = "11:59 pm on 31 December, 9999"
        talk = {"speaker_a": "A", "session_1": turns, "session_1_date_time": late}
        write_json(tmp_path / "talks" / folder / "talk.json", talk)
    found = await import_memory(memory, tmp_path / "talks")
    assert (found.format, found.conversations, found.turns) == ("locomo", 2, 4)


async def test_half_a_character_in_a_statement(memory: ReMe, tmp_path: Path) -> None:
    row = {"id": "1\n# no heading", "memory": "Likes zebras \ud83d"}
    source = tmp_path / "m.json"
    source.write_text(json.dumps([row]))
    found = await import_memory(memory, source)
    assert found.success
    assert "- Likes zebras ? (mem0 1 # no heading)\n" in (
        memory.workspace.root / "digest/personal/mem0.md"
    ).read_text("utf-8")


async def test_names_that_become_one_stay_apart(memory: ReMe, tmp_path: Path) -> None:
    composed, apart = "caf\u00e9", unicodedata.normalize("NFD", "caf\u00e9")
    source = vault_of(
        tmp_path,
        {
            "a?/note.md": f"[[{composed}]]",
            "a-": "a file named like the folder",
            f"{apart}.md": "x",
            "2024-02-31.md": "no day",
            b"\xff.md".decode("utf-8", "surrogateescape"): "[[nowhere]]",
        },
    )
    found = await import_memory(memory, source)
    assert (found.success, found.files, found.links_resolved) == (True, 5, 1), found.answer
    assert found.model_dump_json()
    written = files_of(memory.workspace.root)
    assert not any(name.startswith("daily/") for name in written)
    assert written["digest/wiki/Vault/a--2"] == b"a file named like the folder"
    assert not (await import_memory(memory, source)).kept


async def test_a_vault_with_a_daily_folder_is_a_vault(memory: ReMe, tmp_path: Path) -> None:
    talk = [chatgpt_export(chatgpt_node("a", None, "user", ["x"]), last="a")]
    source = vault_of(
        tmp_path,
        {
            ".obsidian/app.json": "{}",
            "daily/2024-01-01.md": "x",
            "Projects/zebra.md": "y",
            "old/conversations.json": json.dumps(talk),
        },
    )
    found = await import_memory(memory, source)
    assert (found.format, found.files) == ("obsidian", 3)


async def test_notes_never_go_where_logs_stand(memory: ReMe, tmp_path: Path) -> None:
    source = vault_of(tmp_path, {"a.md": "x"})
    with pytest.raises(BadInput, match="session logs"):
        await import_memory(memory, source, into="session/dialog")


async def test_what_stands_in_the_way_is_told(memory: ReMe, tmp_path: Path) -> None:
    source = vault_of(tmp_path, {"a/b.md": "x", "c.md": "y", "d.md": "z"})
    root = memory.workspace.root / "digest/wiki/Vault"
    (root / "c.md").mkdir(parents=True)
    (root / "a").write_text("a file")
    found = await import_memory(memory, source)
    assert (found.files, len(found.failed)) == (1, 2)


async def test_a_file_that_cannot_be_read_is_told(memory: ReMe, tmp_path: Path) -> None:
    source = write_zip(tmp_path / "v.zip", {"a.md": b"SPOILED" * 9, "b.md": b"zebra", "c.md": b"x"})
    source.write_bytes(source.read_bytes().replace(b"SPOILED", b"spoiled"))
    found = await import_memory(memory, source)
    assert (found.files, [one.item for one in found.failed]) == (2, ["a.md"])


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
async def test_rare_ways_of_packing_are_told(memory: ReMe, tmp_path: Path, method: int) -> None:
    place = tmp_path / "v.zip"
    with zipfile.ZipFile(place, "w", method) as archive:
        archive.writestr("a.md", "zebra")
    found = await import_memory(memory, place)
    assert (found.files, "rare" in found.answer) == (0, True)


@pytest.mark.parametrize("encoding", ["utf-8", "gb18030"])
async def test_names_of_no_stated_encoding(memory: ReMe, tmp_path: Path, encoding: str) -> None:
    name = "你好".encode(encoding)
    stand_in = "X" * len(name)
    place = write_zip(tmp_path / "v.zip", {f"{stand_in}.md": b"x", "b.md": "[[你好]]".encode()})
    place.write_bytes(place.read_bytes().replace(stand_in.encode(), name))
    found = await import_memory(memory, place)
    assert found.links_resolved == 1
    assert "digest/wiki/v/你好.md" in files_of(memory.workspace.root)


async def test_names_that_are_not_what_the_archive_says(memory: ReMe, tmp_path: Path) -> None:
    place = write_zip(tmp_path / "v.zip", {"é.md": b"x"})
    place.write_bytes(place.read_bytes().replace("é".encode(), b"\xff\xff"))
    with pytest.raises(BadInput, match="not a ZIP archive that can be read"):
        await import_memory(memory, place)
    assert not is_archive(place)


async def test_links_in_an_archive_are_left_out(memory: ReMe, tmp_path: Path) -> None:
    place = write_zip(tmp_path / "v.zip", {"a.md": b"x"})
    link = zipfile.ZipInfo("link.md")
    link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(place, "a") as archive:
        archive.writestr(link, "/etc/passwd")
    assert (await import_memory(memory, place)).files == 1


def test_an_archive_without_its_directory_is_no_archive(tmp_path: Path) -> None:
    place = tmp_path / "x.zip"
    place.write_bytes(b"zz" * 40 + b"PK\x05\x06" + struct.pack("<4H2LH", 0, 0, 1, 1, 46, 0, 0))
    assert not is_archive(place)


@pytest.mark.parametrize(
    "path",
    [
        "users/bob/daily/x.md",
        "Users/bob/daily/x.md",
        "metadata/index-1.db",
        ".locks/x",
        "digest/.git/config",
        "digest/a\0.md",
    ],
)
def test_an_archive_holds_nothing_an_export_would_not_write(tmp_path: Path, path: str) -> None:
    entry = {"sha256": hashlib.sha256(b"x").hexdigest(), "size": 1}
    manifest = json.dumps({"format": 1, "created": "now", "files": {path: entry}})
    place = write_zip(tmp_path / "a.zip", {path: b"x", MANIFEST: manifest.encode()})
    with pytest.raises(BadInput):
        restore_archive(place, Workspace(tmp_path / "new"))
    assert os.listdir(tmp_path) == ["a.zip"]


async def test_a_file_named_like_the_list_of_files(memory: ReMe, tmp_path: Path) -> None:
    (memory.workspace.root / MANIFEST).write_text("mine")
    await memory.write("daily/2026-06-20/a.md", "x")
    place = Path((await export_memory(memory, tmp_path / "out")).path)
    assert len(restore_archive(place, Workspace(tmp_path / "new")).files) == 1


async def test_nothing_is_meant_by_no_name(memory: ReMe) -> None:
    with pytest.raises(BadInput, match="nothing is named"):
        await import_memory(memory, "")
    with pytest.raises(BadInput, match="no name"):
        await export_memory(memory, "")
