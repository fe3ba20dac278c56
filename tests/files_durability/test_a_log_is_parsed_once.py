"""What was read of a log is not read again, and is never trusted longer than it holds."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentscope_reme.files.disk import Disk
from agentscope_reme.files.growing_file import GrowingFile
from agentscope_reme.files.locks import WorkspaceLocks
from agentscope_reme.files.log_state import LogStates
from agentscope_reme.files.session_log import SessionLog
from agentscope_reme.files.session_logs import SessionLogs
from agentscope_reme.messages import Message
from agentscope_reme.schema import content_hash
from agentscope_reme.testing import FakeClock
from agentscope_reme.workspace import Workspace


class CountingDisk(Disk):
    """Counts how often a file is opened for reading."""

    def __init__(self) -> None:
        super().__init__(fsync=False)
        self.reads = 0

    def read(self, place: Path) -> bytes:
        self.reads += 1
        return super().read(place)

    @contextmanager
    def reading(self, place: Path) -> Iterator[BinaryIO]:
        self.reads += 1
        with super().reading(place) as file:
            yield file


def logs_of(root: Path, disk: Disk | None = None) -> SessionLogs:
    workspace = Workspace(root)
    workspace.create()
    workspace.create()
    return SessionLogs(
        workspace,
        disk=disk or Disk(fsync=False),
        locks=WorkspaceLocks(workspace),
        clock=FakeClock(),
    )


def said(number: int, text: str = "hello") -> Message:
    return Message.from_dict({"id": f"m{number}", "role": "user", "content": text})


def fresh(root: Path) -> SessionLog:
    return logs_of(root).log("s")


def test_an_append_reads_nothing_of_a_known_log(tmp_path: Path) -> None:
    disk = CountingDisk()
    logs = logs_of(tmp_path, disk)
    logs.log("s").append([said(n) for n in range(50)])
    before = disk.reads
    for n in range(50, 60):
        assert logs.log("s").append([said(n), said(n - 1)]).duplicates == 1
    assert disk.reads == before
    assert fresh(tmp_path).read() == logs.log("s").read()


def test_waiting_sessions_are_told_without_opening_unchanged_logs(tmp_path: Path) -> None:
    disk = CountingDisk()
    logs = logs_of(tmp_path, disk)
    for name in ("a", "b", "c"):
        logs.log(name).append([said(1)])
    logs.log("b").mark_distilled("m1", card=None)
    assert logs.waiting() == ["a", "c"]
    before = disk.reads
    assert logs.waiting() == ["a", "c"]
    assert disk.reads == before
    logs.log("b").append([said(2)])
    assert logs.waiting() == ["a", "b", "c"]
    os.remove(tmp_path / "session/dialog/a.jsonl")
    assert logs.waiting() == ["b", "c"]


def test_an_append_tells_the_file_around_it(tmp_path: Path) -> None:
    log = logs_of(tmp_path).log("s")
    first = log.append([said(1)]).written
    second = log.append([said(2)]).written
    assert first is not None
    assert second is not None
    assert (first.before, second.before) == (None, first.after)
    assert log.append([said(2)]).written is None


def test_a_replaced_or_edited_log_is_read_anew(tmp_path: Path) -> None:
    logs = logs_of(tmp_path)
    logs.log("s").append([said(1, "one"), said(2, "two")])
    place = tmp_path / "session/dialog/s.jsonl"
    edited = place.read_bytes().replace(b"one", b"uno")
    place.write_bytes(edited + edited.split(b"\n")[1].replace(b"m1", b"m3") + b"\n")
    assert logs.log("s").append([said(1, "uno"), said(3, "uno")]).duplicates == 2
    place.unlink()
    assert logs.log("s").append([said(1, "uno")]).appended == 1
    assert fresh(tmp_path).read() == logs.log("s").read()


def test_a_log_that_is_another_sessions_by_now_is_not_written_to(tmp_path: Path) -> None:
    logs = logs_of(tmp_path)
    logs.log("s").append([said(1, "one")])
    place = tmp_path / "session/dialog/s.jsonl"
    theirs = place.read_bytes().replace(b'"s"', b'"other"')
    place.write_bytes(theirs)
    logs.log("s").append([said(2, "two")])
    assert place.read_bytes() == theirs
    assert [row.message.id for row in logs.log("s").read().messages] == ["m2"]


def test_an_append_that_goes_on_from_another_state_is_looked_up(tmp_path: Path) -> None:
    mine, place = logs_of(tmp_path), tmp_path / "session/dialog/s.jsonl"
    mine.log("s").append([said(1)])
    file = GrowingFile(Disk(fsync=False))
    file.take(file.unread(place) or b"")
    fresh(tmp_path).append([said(2)])
    appended = mine.log("s").append([said(3)]).written
    assert appended is not None
    file.take(file.unread(place, appended) or b"")
    assert file.content_hash == content_hash(place.read_bytes())


def test_the_states_kept_are_bounded(tmp_path: Path) -> None:
    disk = Disk(fsync=False)
    states = LogStates(disk, kept_messages=10)
    workspace = Workspace(tmp_path)
    workspace.create()
    workspace.create()
    locks = WorkspaceLocks(workspace)
    for name in "abcabc":
        log = SessionLog(workspace, name, disk=disk, locks=locks, clock=FakeClock(), states=states)
        log.append([said(n) for n in range(6)])
        assert len(log.read().messages) == 6
        assert sum(state.messages for state in states._states.values()) <= 12


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["one", "other", "unnamed", "distil", "torn", "foreign", "cut"]),
        st.integers(0, 6),
        st.sampled_from(["a", "b", "数"]),
    ),
    max_size=20,
)


@settings(max_examples=60, deadline=None)
@given(STEPS)
def test_any_history_is_known_as_if_it_were_read_now(steps: list[tuple[str, int, str]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        one, other = logs_of(root).log("s"), logs_of(root).log("s")
        place = root / "session/dialog/s.jsonl"
        one.append([said(0)])
        for step, number, text in steps:
            match step:
                case "one" | "other":
                    expected = len({m.id: m for m in fresh(root).read().messages})
                    outcome = (one if step == "one" else other).append([said(number, text)])
                    assert len(fresh(root).read().messages) == expected + outcome.appended
                case "unnamed":
                    one.append([Message.from_dict({"role": "user", "content": text})] * 2)
                case "distil" if waiting := other.pending():
                    other.mark_distilled(waiting[0].id, card=None)
                case "torn":
                    place.write_bytes(place.read_bytes() + b'{"id": "m9", "role"')
                case "foreign":
                    place.write_bytes(place.read_bytes() + b'{"role": "user"}\n\n{\n')
                case "cut":
                    place.write_bytes(place.read_bytes()[:-7])
            for log in (one, other):
                assert log.read() == fresh(root).read()
                assert log.pending() == fresh(root).pending()
                assert log.is_waiting() == bool(log.pending())
                assert log.distilled() == fresh(root).distilled()


@pytest.mark.parametrize("content", [b"", b"\n\n"])
def test_an_empty_log_says_nothing(tmp_path: Path, content: bytes) -> None:
    place = tmp_path / "session/dialog/s.jsonl"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)
    log = fresh(tmp_path)
    assert log.pending() == []
    assert log.append([said(1)]).appended == 1
    assert [logged.id for logged in log.pending()] == ["m1"]
