"""Statements, workspaces and vaults come in as files, and nothing that is there is written over."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentscope_reme import ReMe
from agentscope_reme.errors import BadInput
from agentscope_reme.transfer.importing import import_memory
from tests.transfer.conftest import write_json, write_zip


def text_of(memory: ReMe, path: str) -> str:
    return (memory.workspace.root / path).read_text("utf-8")


async def test_statements_stand_on_the_day_they_were_learnt(memory: ReMe, tmp_path: Path) -> None:
    rows = [
        {"id": "1", "memory": "Likes tea", "created_at": "2025-01-02T03:04:05Z", "user_id": "ann"},
        {"id": "2", "memory": "Lives in 北京", "created_at": None, "user_id": "ann"},
    ]
    found = await import_memory(memory, write_json(tmp_path / "mem0.json", {"results": rows}))
    assert (found.format, found.files) == ("mem0", 2)
    assert "- Likes tea (mem0 1)" in text_of(memory, "daily/2025-01-02/mem0.md")
    assert "- Lives in 北京 (mem0 2)" in text_of(memory, "digest/personal/mem0.md")


async def test_statements_of_several_people_are_never_mixed(memory: ReMe, tmp_path: Path) -> None:
    rows = [{"id": n, "memory": f"{n} likes tea", "user_id": n} for n in ("ann", "bob")]
    place = write_json(tmp_path / "mem0.json", rows)
    with pytest.raises(BadInput, match="several users: 'ann', 'bob'"):
        await import_memory(memory, place)
    with pytest.raises(BadInput, match="no such user"):
        await import_memory(memory, place, only_user="eve")
    await import_memory(memory, place, only_user="bob")
    assert "bob" in text_of(memory, "digest/personal/mem0.md")
    assert "ann" not in text_of(memory, "digest/personal/mem0.md")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A workspace as another product of this layout writes it."""
    root = tmp_path / "other"
    turn = {
        "id": "m1",
        "name": "user",
        "role": "user",
        "content": [{"type": "text", "text": "The zebra sleeps at nine."}],
        "timestamp": "2025-03-04 05:06:07.000",
    }
    second = {**turn, "id": "m2", "role": "assistant", "name": "a", "content": "Noted."}
    lines = [json.dumps(turn), "{torn", json.dumps(second), json.dumps({"type": "other"})]
    files = {
        "session/dialog/s1.jsonl": "\n".join(lines) + "\n",
        "session/dialog/s2.jsonl": json.dumps({**turn, "id": "m3"}) + "\n",
        "daily/2025-03-04/s1.md": "---\nname: Zebra\n---\nIt sleeps at nine.\n",
        "digest/personal/zebra.md": "Zebra.\n",
        "MEMORY.md": "Long term.\n",
        "metadata/index.db": "derived",
    }
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, "utf-8")
    return root


async def test_a_workspace_comes_with_its_cards(memory: ReMe, workspace: Path) -> None:
    found = await import_memory(memory, workspace)
    assert (found.format, found.turns, found.files) == ("reme", 3, 3)
    assert "1 line(s) of session logs could not be read" in found.answer
    assert text_of(memory, "MEMORY.md") == "Long term.\n"
    assert (await memory.search("zebra nine", start_date="2025-03-04")).hits
    waiting = memory.application.components.logs.waiting()
    assert waiting == ["s2"]  # the card of the other came along


async def test_what_the_person_has_written_stays(memory: ReMe, workspace: Path) -> None:
    await memory.write("digest/personal/zebra.md", "Mine.\n")
    found = await import_memory(memory, workspace)
    assert found.kept == ["digest/personal/zebra.md"]
    assert "Mine." in text_of(memory, "digest/personal/zebra.md")


async def test_an_import_of_files_can_be_undone(memory: ReMe, workspace: Path) -> None:
    found = await import_memory(memory, workspace)
    (change,) = found.change_ids
    await memory.undo(change)
    assert not (memory.workspace.root / "MEMORY.md").exists()


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    root = tmp_path / "Second Brain"
    files = {
        ".obsidian/app.json": "{}",
        "Home.md": "[[Tea]] [[ideas/Plan|the plan]] [[Tea#Green]] [[Nowhere]] ![[cup.png]]\n",
        "ideas/Plan.md": "Back [[home]]. `[[Tea]]` is an example.\n",
        "ideas/Tea.md": "near\n",
        "drinks/old/Tea.md": "far\n",
        "drinks/cup.png": "png",
        "2024-05-06.md": "Dentist. See [[Plan]].\n",
        "What? #1.md": "odd name\n",
    }
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, "utf-8")
    return root


async def test_links_of_a_vault_lead_to_the_files_they_meant(memory: ReMe, vault: Path) -> None:
    found = await import_memory(memory, vault)
    base = "digest/wiki/Second Brain"
    assert found.format == "obsidian"
    assert text_of(memory, f"{base}/Home.md") == (
        f"[[{base}/ideas/Tea.md]] [[{base}/ideas/Plan.md|the plan]] "
        f"[[{base}/ideas/Tea.md#Green]] [[Nowhere]] ![[{base}/drinks/cup.png]]\n"
    )
    assert text_of(memory, f"{base}/ideas/Plan.md") == (
        f"Back [[{base}/Home.md]]. `[[Tea]]` is an example.\n"
    )
    assert found.links_unresolved == ["Home.md: [[Nowhere]]"]
    assert found.links_ambiguous == ["Home.md: [[Tea]] -> ideas/Tea.md"] * 2
    assert text_of(memory, f"{base}/What- -1.md") == "odd name\n"


async def test_a_note_named_by_a_day_belongs_to_that_day(memory: ReMe, vault: Path) -> None:
    await import_memory(memory, vault)
    path = "daily/2024-05-06/Second Brain.md"
    assert "[[digest/wiki/Second Brain/ideas/Plan.md]]" in text_of(memory, path)
    (hit, *_) = (await memory.search("dentist", end_date="2024-12-31")).hits
    assert hit.path == path
    assert f"[[{path}]]" in text_of(memory, "daily/2024-05-06.md")  # the page of the day


async def test_a_packed_vault_may_go_elsewhere(memory: ReMe, tmp_path: Path) -> None:
    files = {"v/A.md": b"[[B]]", "v/B.md": b"b", "v/.obsidian/x": b"{}"}
    found = await import_memory(memory, write_zip(tmp_path / "v.zip", files), into="digest/wiki/x")
    assert found.files == 2
    assert text_of(memory, "digest/wiki/x/A.md") == "[[digest/wiki/x/B.md]]"


async def test_names_that_differ_only_by_case_stay_apart(memory: ReMe, tmp_path: Path) -> None:
    files = {"a.md": b"one", "A.md": b"two", "a?.md": b"three", "a*.md": b"four"}
    found = await import_memory(
        memory, write_zip(tmp_path / "v.zip", files), format="obsidian", into="digest/wiki/v"
    )
    stored = (memory.workspace.root / "digest/wiki/v").iterdir()
    assert found.files == 4
    assert sorted(place.read_bytes() for place in stored) == [b"four", b"one", b"three", b"two"]


async def test_a_hostile_archive_reaches_nothing(memory: ReMe, tmp_path: Path) -> None:
    place = write_zip(tmp_path / "evil.zip", {"../../evil.md": b"x"})
    with pytest.raises(BadInput, match="leads out"):
        await import_memory(memory, place, format="obsidian")
    place = write_zip(tmp_path / "evil2.zip", {"metadata/a.md": b"x", "journal/b.md": b"y"})
    found = await import_memory(memory, place, format="obsidian", into="daily")
    assert found.files == 2  # below `daily/`, where they are notes like any other


async def test_links_and_hidden_files_of_a_folder_are_not_followed(
    memory: ReMe, tmp_path: Path
) -> None:
    (tmp_path / "secret.md").write_text("secret")
    folder = tmp_path / "vault"
    folder.mkdir()
    (folder / "a.md").write_text("a")
    (folder / ".hidden.md").write_text("h")
    (folder / "link.md").symlink_to(tmp_path / "secret.md")
    found = await import_memory(memory, folder)
    assert found.files == 1
