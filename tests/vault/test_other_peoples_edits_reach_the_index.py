from __future__ import annotations

import os

import pytest

from agentscope_reme.files.changes import Write
from agentscope_reme.files.disk import Disk
from tests.vault.conftest import House


def indexed(house: House) -> list[str]:
    return [node.path for node in house.store.nodes()]


def test_a_scan_finds_new_changed_and_missing_files(house: House) -> None:
    house.put("daily/2026-06-20/a.md", "one")
    house.put("notes.txt", "two")
    house.put("image.png", "not indexed")
    result = house.vault.scan()
    assert (result.files, result.chunks, result.removed) == (2, 2, 0)
    house.put("notes.txt", "two, edited")
    (house.root / "daily/2026-06-20/a.md").unlink()
    result = house.vault.scan()
    assert (result.files, result.removed) == (1, 1)
    assert indexed(house) == ["notes.txt"]
    assert house.store.keyword_search("edited", limit=1)


def test_an_edit_that_keeps_time_and_size_is_found_by_a_full_scan(house: House) -> None:
    house.put("a.md", "one")
    house.vault.scan()
    status = (house.root / "a.md").stat()
    house.put("a.md", "two")
    os.utime(house.root / "a.md", ns=(status.st_atime_ns, status.st_mtime_ns))
    assert house.vault.scan().files == 0
    assert house.vault.scan(full=True).files == 1
    assert house.store.keyword_search("two", limit=1)


def test_a_new_time_alone_chunks_nothing_again(house: House) -> None:
    house.put("a.md", "one")
    house.vault.scan()
    house.indexer.understood.clear()
    os.utime(house.root / "a.md", ns=(1, 1))
    assert house.vault.scan().files == 1
    assert house.indexer.understood == []
    assert house.vault.scan().files == 0


def test_hidden_internal_and_outside_files_are_not_followed(house: House) -> None:
    house.put(".obsidian/a.md", "x")
    house.put("daily/.hidden.md", "x")
    house.put("metadata/b.md", "x")
    house.put("users/bob/daily/c.md", "x")
    (house.root / "out.md").symlink_to("/etc/hostname")
    (house.root / "outside").symlink_to("/etc")
    result = house.vault.scan()
    assert indexed(house) == []
    assert [failure.item for failure in result.failed] == ["out.md", "outside"]


def test_one_bad_file_does_not_stop_the_others(house: House) -> None:
    (house.root / "bad.md").write_bytes(b"\xff\xfe")
    house.put("a:b.md", "a name that is no path")
    house.put("good.md", "fine")
    result = house.vault.scan()
    assert indexed(house) == ["good.md"]
    assert sorted(failure.item for failure in result.failed) == ["a:b.md", "bad.md"]


def test_a_path_too_long_to_be_read_is_not_indexed(house: House) -> None:
    deep = "/".join(["d" * 200] * 4 + ["d" * 180])
    short, long = f"{deep}/{'n' * 30}.md", f"{deep}/{'n' * 60}.md"
    assert len(short) < 1024 < len(long)
    house.put(short, "x")
    house.put(long, "x")
    result = house.vault.scan()
    assert indexed(house) == [short]
    assert [failure.item for failure in result.failed] == [long]


def test_a_scan_can_be_narrowed_to_a_folder(house: House) -> None:
    house.put("daily/a.md", "x")
    house.put("digest/b.md", "x")
    house.vault.scan(scope="daily")
    assert indexed(house) == ["daily/a.md"]


def test_a_layer_that_vanished_keeps_its_index(house: House) -> None:
    for n in range(10):
        house.put(f"daily/{n}.md", "x")
        house.put(f"digest/{n}.md", "x")
    house.vault.scan()
    for n in range(6):
        (house.root / f"daily/{n}.md").unlink()
    for n in range(4):
        (house.root / f"digest/{n}.md").unlink()
    assert house.vault.scan().removed == 4
    assert len(house.store.nodes("daily/")) == 10
    assert len(house.store.nodes("digest/")) == 6
    (notice,) = house.vault.notices
    assert "6 of 10 files in `daily/`" in notice
    for n in range(6):
        house.put(f"daily/{n}.md", "x")
    house.vault.scan()
    assert house.vault.notices == []


def test_the_guard_holds_for_the_watcher_too(house: House) -> None:
    paths = [f"daily/{n}.md" for n in range(6)]
    for path in paths:
        house.put(path, "x")
    house.vault.scan()
    for path in paths:
        (house.root / path).unlink()
    assert house.vault.apply_foreign(paths).removed == 0
    assert len(house.store.nodes()) == 6
    assert house.vault.notices


def test_a_handful_of_missing_files_is_believed(house: House) -> None:
    for n in range(4):
        house.put(f"daily/{n}.md", "x")
    house.vault.scan()
    for n in range(4):
        (house.root / f"daily/{n}.md").unlink()
    assert house.vault.scan().removed == 4


def test_many_files_are_few_transactions(house: House) -> None:
    for n in range(1000):
        house.put(f"daily/{n}.md", "x")
    house.store.transactions = 0
    assert house.vault.scan().files == 1000
    assert house.store.transactions <= 5


def test_the_watcher_names_files_and_folders(house: House) -> None:
    house.put("digest/wiki/a.md", "x")
    house.put("digest/wiki/deep/b.md", "x")
    unsafe = ["../x", "metadata/index.db", ".locks/commit.lock", "digest/wiki/.a.md.tmp"]
    assert house.vault.apply_foreign(["digest/wiki", *unsafe]).files == 2
    (house.root / "digest/wiki").rename(house.root / "digest/moved")
    result = house.vault.apply_foreign(["digest/wiki", "digest/moved"])
    assert (result.files, result.removed) == (2, 2)
    assert indexed(house) == ["digest/moved/a.md", "digest/moved/deep/b.md"]


def test_our_own_events_are_no_work(house: House) -> None:
    house.vault.commit([Write("a.md", b"x")], actor="user", operation="write")
    house.indexer.understood.clear()
    assert house.vault.apply_foreign(["a.md"]).files == 0
    assert house.indexer.understood == []
    assert house.vault.apply_foreign(["a.md"], force=True).files == 1


def test_a_broken_index_costs_no_write(house: House) -> None:
    house.store.broken = True
    done = house.vault.commit([Write("a.md", b"x")], actor="user", operation="write")
    assert not done.indexed
    assert house.text("a.md") == "x"
    assert house.vault.dirty == ["a.md"]
    again = House(house.root)
    assert again.vault.dirty == ["a.md"]  # the set is durable
    again.vault.open()
    assert again.vault.dirty == []
    assert indexed(again) == ["a.md"]


@pytest.mark.parametrize("by", ["commit", "scan"])
def test_a_dirty_path_is_tried_again(house: House, by: str) -> None:
    house.store.broken = True
    house.vault.commit([Write("a.md", b"x")], actor="user", operation="write")
    house.store.broken = False
    if by == "commit":
        assert house.vault.commit([Write("b.md", b"y")], actor="u", operation="write").indexed
    else:
        house.vault.scan()
    assert house.vault.dirty == []
    assert "a.md" in indexed(house)


def test_a_scan_over_a_broken_index_reports_and_remembers(house: House) -> None:
    house.put("a.md", "x")
    house.store.broken = True
    result = house.vault.scan()
    assert [failure.item for failure in result.failed] == ["a.md"]
    assert house.vault.dirty == ["a.md"]


def test_a_file_no_parser_understands_is_safe_but_dirty(house: House) -> None:
    done = house.vault.commit([Write("a.md", b"\xff\xfe")], actor="user", operation="write")
    assert not done.indexed
    assert house.vault.dirty == ["a.md"]
    assert (house.root / "a.md").read_bytes() == b"\xff\xfe"


def test_a_log_is_indexed_without_a_journal_line(house: House) -> None:
    Disk().append(house.root / "session/dialog/s.jsonl", b'{"role":"user"}\n')
    assert house.vault.log_changed("session/dialog/s.jsonl")
    assert indexed(house) == ["session/dialog/s.jsonl"]
    assert house.vault.history() == []


def test_a_file_above_the_limit_leaves_the_index(house: House) -> None:
    house.put("big.md", "x")
    house.vault.scan()
    (house.root / "big.md").write_bytes(b"x" * (20 * 1024 * 1024 + 1))
    assert house.vault.scan().removed == 1
    assert indexed(house) == []
