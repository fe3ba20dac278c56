"""The newest entries are asked for far more often than old ones: they cost only themselves."""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.files.disk import Disk
from agentscope_reme.files.journal import Journal, JournalEntry, PathChange
from agentscope_reme.testing import FakeClock
from agentscope_reme.workspace import Workspace


class CountingDisk(Disk):
    """Adds up how many bytes are read."""

    bytes_read = 0

    def read(self, place: Path) -> bytes:
        data = super().read(place)
        self.bytes_read += len(data)
        return data

    @contextmanager
    def reading(self, place: Path) -> Iterator[BinaryIO]:
        with super().reading(place) as file:
            yield cast(BinaryIO, _Counted(file, self))


class _Counted:
    def __init__(self, file: BinaryIO, disk: CountingDisk) -> None:
        self._file = file
        self._disk = disk
        self.seek = file.seek

    def read(self, size: int) -> bytes:
        data = self._file.read(size)
        self._disk.bytes_read += len(data)
        return data


@pytest.fixture
def disk() -> CountingDisk:
    return CountingDisk(fsync=False)


@pytest.fixture
def journal(tmp_path: Path, disk: CountingDisk) -> Journal:
    built = Journal(Workspace(tmp_path), disk=disk, clock=FakeClock())
    built.open()
    return built


def entry(number: int, paths: int = 1) -> JournalEntry:
    changes = tuple(PathChange(f"daily/{number}-{n}.md", None, "0" * 64) for n in range(paths))
    return JournalEntry(f"change-{number}", "2026-06-20T00:00:00+00:00", "me", "write", changes)


def test_one_entry_of_a_long_month_costs_one_block(journal: Journal, disk: CountingDisk) -> None:
    for number in range(600):
        journal.append(entry(number))
    assert next(journal.entries()).change_id == "change-599"
    assert journal.entry("change-598").change_id == "change-598"
    last = journal.last()
    assert last is not None
    assert last.change_id == "change-599"
    assert disk.bytes_read <= 3 * 16 * 1024


def test_entries_longer_than_a_block_are_whole(journal: Journal) -> None:
    journal.append(entry(1, paths=900))
    journal.append(entry(2))
    journal.append(entry(3, paths=400))
    assert [len(e.changes) for e in journal.entries()] == [400, 1, 900]


def test_older_months_follow(journal: Journal, tmp_path: Path) -> None:
    journal.append(entry(2))
    newest = next(tmp_path.joinpath("journal").glob("*.jsonl"))
    older = newest.with_name("2001-01.jsonl")
    older.write_bytes(newest.read_bytes().replace(b"change-2", b"change-1"))
    assert [e.change_id for e in journal.entries()] == ["change-2", "change-1"]


@given(
    st.lists(
        st.one_of(st.integers(1, 120), st.sampled_from([16_383, 16_384, 16_385, 40_000])),
        max_size=8,
    ),
    st.booleans(),
)
def test_the_lines_are_those_of_the_file(lengths: list[int], ended: bool) -> None:
    lines = [str(n).encode() + b"x" * length for n, length in enumerate(lengths)]
    data = b"\n".join(lines) + (b"\n" if ended else b"")

    class OneFile(Disk):
        @contextmanager
        def reading(self, place: Path) -> Iterator[BinaryIO]:
            yield cast(BinaryIO, io.BytesIO(data))

    journal = Journal(Workspace("/nowhere"), disk=OneFile(), clock=FakeClock())
    found = list(itertools.islice(journal._lines_backwards(Path("any")), 100))
    assert found == list(reversed(data.split(b"\n")))
