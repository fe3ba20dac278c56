from __future__ import annotations

import stat
from pathlib import Path

import pytest

from agentscope_reme.errors import BadPath, Conflict, NotFound, StorageFailed
from agentscope_reme.files.changes import Write
from tests.files_durability.failing_disk import FailingDisk
from tests.vault.conftest import House


def write(house: House, path: str, text: str) -> None:
    house.vault.commit([Write(path, text.encode())], actor="user", operation="write")


def test_a_move_right_after_a_write_rewrites_the_new_link(house: House) -> None:
    write(house, "digest/wiki/old.md", "target")
    write(
        house,
        "daily/2026-06-20/a.md",
        "see [[digest/wiki/old.md#part|it]] and `[[digest/wiki/old.md]]`",
    )
    done = house.vault.move("digest/wiki/old.md", "digest/wiki/new.md", actor="user")
    assert house.text("daily/2026-06-20/a.md") == (
        "see [[digest/wiki/new.md#part|it]] and `[[digest/wiki/old.md]]`"
    )
    assert done.touched == ("daily/2026-06-20/a.md",)
    assert [link.source_path for link in done.inbound] == ["daily/2026-06-20/a.md"]
    assert [link.source_path for link in house.store.inlinks("digest/wiki/new.md")] == [
        "daily/2026-06-20/a.md"
    ]
    assert house.store.node("digest/wiki/old.md") is None


def test_links_in_front_matter_follow(house: House) -> None:
    house.put("session/dialog/s1.jsonl", '{"type":"session","session_id":"s1"}\n')
    write(
        house,
        "daily/2026-06-20/a.md",
        '---\n# mine\nsource_conversation: "[[session/dialog/s1.jsonl]]"\n---\nbody\n',
    )
    house.vault.move("session/dialog/s1.jsonl", "session/dialog/s2.jsonl", actor="user")
    assert house.text("daily/2026-06-20/a.md") == (
        '---\n# mine\nsource_conversation: "[[session/dialog/s2.jsonl]]"\n---\nbody\n'
    )


def test_evidence_is_not_rewritten(house: House) -> None:
    write(house, "digest/wiki/old.md", "target")
    text = '{"type":"text","text":"[[digest/wiki/old.md]]"}'
    log = f'{{"id":"m","role":"user","name":"u","blocks":[{text}]}}\n'
    house.put("session/dialog/s1.jsonl", log)
    house.vault.scan()
    house.vault.move("digest/wiki/old.md", "digest/wiki/new.md", actor="user")
    assert house.text("session/dialog/s1.jsonl") == log


def test_a_file_that_links_to_itself(house: House) -> None:
    write(house, "digest/wiki/a.md", "me: [[digest/wiki/a.md]]")
    house.vault.move("digest/wiki/a.md", "digest/wiki/b.md", actor="user")
    assert house.files() == {"digest/wiki/b.md": "me: [[digest/wiki/b.md]]"}


def test_a_folder_moves_with_links_inside_and_outside(house: House) -> None:
    write(house, "digest/wiki/x/a.md", "[[digest/wiki/x/deep/b.md]] [[other.md]]")
    write(house, "digest/wiki/x/deep/b.md", "[[digest/wiki/x/a.md]]")
    write(house, "out.md", "[[digest/wiki/x/a.md]]")
    house.put("digest/wiki/x/.hidden", "kept")
    house.put("digest/wiki/x/data.bin", "kept too")
    done = house.vault.move("digest/wiki/x", "digest/personal/y", actor="user")
    assert house.files() == {
        "digest/personal/y/a.md": "[[digest/personal/y/deep/b.md]] [[other.md]]",
        "digest/personal/y/deep/b.md": "[[digest/personal/y/a.md]]",
        "digest/personal/y/data.bin": "kept too",
        "out.md": "[[digest/personal/y/a.md]]",
    }
    assert house.text("digest/personal/y/.hidden") == "kept"
    assert not (house.root / "digest/wiki/x").exists()
    assert done.touched == ("digest/personal/y/a.md", "digest/personal/y/deep/b.md", "out.md")
    assert [node.path for node in house.store.nodes("digest/")] == [
        "digest/personal/y/a.md",
        "digest/personal/y/deep/b.md",
    ]


def test_without_retarget_only_the_file_moves(house: House) -> None:
    write(house, "a.md", "x")
    write(house, "b.md", "[[a.md]]")
    done = house.vault.move("a.md", "c.md", retarget=False, actor="user")
    assert house.files() == {"b.md": "[[a.md]]", "c.md": "x"}
    assert done.touched == ()
    assert len(done.inbound) == 1


def test_the_mode_and_the_time_travel_with_the_file(house: House) -> None:
    write(house, "a.md", "x")
    write(house, "self.md", "[[self.md]]")
    for name in ("a.md", "self.md"):
        (house.root / name).chmod(0o600)
    mtime = (house.root / "a.md").stat().st_mtime_ns
    house.vault.move("a.md", "deep/b.md", actor="user")
    house.vault.move("self.md", "deep/self.md", actor="user")
    assert (house.root / "deep/b.md").stat().st_mtime_ns == mtime
    for name in ("b.md", "self.md"):
        assert stat.S_IMODE((house.root / "deep" / name).stat().st_mode) == 0o600


def test_bytes_that_are_no_text_survive_a_rewrite(house: House) -> None:
    write(house, "a.md", "x")
    (house.root / "b.md").write_bytes(b"\xff\xfe [[a.md]] \xe9")
    write(house, "c.md", "[[a.md]]")
    house.vault.move("a.md", "d.md", actor="user")
    assert house.text("c.md") == "[[d.md]]"
    assert (house.root / "b.md").read_bytes().startswith(b"\xff\xfe")


def test_an_occupied_target_is_refused_before_anything_is_copied(house: House) -> None:
    write(house, "a.md", "a")
    write(house, "b.md", "b")
    write(house, "folder/c.md", "c")
    for target in ("b.md", "folder"):
        with pytest.raises(Conflict):
            house.vault.move("a.md", target, actor="user")
    with pytest.raises(Conflict):
        house.vault.move("folder", "b.md", overwrite=True, actor="user")
    assert house.files() == {"a.md": "a", "b.md": "b", "folder/c.md": "c"}
    assert len(house.vault.history()) == 3


def test_overwriting_is_done_when_asked_and_can_be_undone(house: House) -> None:
    write(house, "a.md", "a")
    write(house, "b.md", "b")
    done = house.vault.move("a.md", "b.md", overwrite=True, actor="user")
    assert house.files() == {"b.md": "a"}
    house.vault.undo(done.change_id, actor="user")
    assert house.files() == {"a.md": "a", "b.md": "b"}


def test_overwriting_with_the_same_content(house: House) -> None:
    write(house, "a.md", "same")
    write(house, "b.md", "same")
    house.vault.move("a.md", "b.md", overwrite=True, actor="user")
    assert house.files() == {"b.md": "same"}


def test_only_the_case_of_a_name_changes(house: House) -> None:
    write(house, "Memory.md", "x")
    write(house, "b.md", "[[Memory.md]]")
    house.vault.move("Memory.md", "MEMORY.md", actor="user")
    assert house.files() == {"MEMORY.md": "x", "b.md": "[[MEMORY.md]]"}


@pytest.mark.parametrize("path", ["daily", "digest", "session", "resource", "memory", "Daily"])
def test_layout_folders_do_not_move(house: House, path: str) -> None:
    with pytest.raises(BadPath):
        house.vault.move(path, "elsewhere", actor="user")


def test_moves_that_lead_nowhere_are_refused(house: House) -> None:
    write(house, "x/a.md", "a")
    write(house, "x2/a.md", "a")
    with pytest.raises(BadPath, match="into itself"):
        house.vault.move("x", "x/y", actor="user")
    with pytest.raises(BadPath, match="already has"):
        house.vault.move("x/a.md", "x/a.md", actor="user")
    with pytest.raises(BadPath, match="is a file"):
        house.vault.move("x", "x2/a.md/b.md", actor="user")
    with pytest.raises(NotFound):
        house.vault.move("missing.md", "b.md", actor="user")


def test_whichever_call_fails_the_move_did_not_happen(tmp_path: Path) -> None:
    disk = FailingDisk()
    house = House(tmp_path, disk)
    house.vault.open()
    write(house, "x/a.md", "[[x/b.md]]")
    write(house, "x/b.md", "b")
    write(house, "out.md", "[[x/b.md]]")
    before = house.files()
    failing = 0
    while failing < 200:
        failing += 1
        disk.calls, disk.fails_at = 0, failing
        try:
            house.vault.move("x", "y", actor="user")
        except StorageFailed:
            disk.fails_at = 0
            assert house.files() == before
        else:
            break
    assert house.files() == {"y/a.md": "[[y/b.md]]", "y/b.md": "b", "out.md": "[[y/b.md]]"}
    assert failing > 20


def test_overwriting_a_file_that_links_to_what_moves(house: House) -> None:
    house.vault.commit([Write("a.md", b"new")], actor="user", operation="write")
    house.vault.commit([Write("b.md", b"see [[a.md]]")], actor="user", operation="write")
    house.vault.commit([Write("c.md", b"also [[a.md]]")], actor="user", operation="write")
    done = house.vault.move("a.md", "b.md", overwrite=True, actor="user")
    assert house.files() == {"b.md": "new", "c.md": "also [[b.md]]"}
    assert done.touched == ("c.md",)
    assert {link.source_path for link in done.inbound} == {"c.md"}
    house.vault.undo(done.change_id, actor="user")
    assert house.files() == {"a.md": "new", "b.md": "see [[a.md]]", "c.md": "also [[a.md]]"}


def test_overwriting_a_file_one_links_to_and_is_linked_from(house: House) -> None:
    house.vault.commit([Write("a.md", b"to [[b.md]]")], actor="user", operation="write")
    house.vault.commit([Write("b.md", b"to [[a.md]]")], actor="user", operation="write")
    house.vault.move("a.md", "b.md", overwrite=True, actor="user")
    assert house.files() == {"b.md": "to [[b.md]]"}
