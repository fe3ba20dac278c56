"""The ledger: the last line of a resource counts, whoever wrote it and whatever a crash left."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentscope_reme.files.disk import Disk
from agentscope_reme.files.locks import WorkspaceLocks
from agentscope_reme.steps.resources.ledger import PLACE, Ledger, Reading
from agentscope_reme.workspace import Workspace

NAMES = st.sampled_from(["resource/a.md", "resource/太\u2028阳.md", 'resource/"b".md'])
ROWS = st.builds(
    Reading,
    path=NAMES,
    sha=st.sampled_from(["", "0" * 64, "f" * 64]),
    settled=st.booleans(),
    card=st.sampled_from([None, "daily/2026-06-18/卡.md"]),
    read=st.integers(0, 9),
    failures=st.integers(0, 3),
    mtime_ns=st.integers(-1, 2**63),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ledgers")


def open_ledger(root: Path) -> Ledger:
    workspace = Workspace(root)
    workspace.create()
    return Ledger(workspace, Disk(fsync=False), WorkspaceLocks(workspace))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 1), ROWS | NAMES), max_size=12))
def test_two_writers_see_what_the_other_wrote(
    folder: Path, events: list[tuple[int, Reading | str]]
) -> None:
    root = folder / str(len(list(folder.iterdir())))
    writers, expected = (open_ledger(root), open_ledger(root)), {}
    for who, event in events:
        if isinstance(event, str):
            writers[who].forget([event])
            expected.pop(event, None)
        else:
            writers[who].note(event)
            expected[event.path] = event
        assert writers[1 - who].read() == expected
    assert open_ledger(root).read() == expected


def test_it_is_rewritten_before_it_grows_without_end(tmp_path: Path) -> None:
    ledger = open_ledger(tmp_path)
    for number in range(1200):
        ledger.note(Reading(f"resource/{number % 3}.md", failures=number))
    lines = (tmp_path / "journal" / PLACE).read_bytes().count(b"\n")
    assert lines < 600
    assert {row.failures for row in open_ledger(tmp_path).read().values()} == {1197, 1198, 1199}


def test_of_a_forgotten_resource_not_even_the_name_stays(tmp_path: Path) -> None:
    ledger = open_ledger(tmp_path)
    for name in ("secret", "other", "secret"):
        ledger.note(Reading(f"resource/{name}.md", failures=len(ledger.read())))
    ledger.forget(["resource/secret.md"])
    assert b"secret" not in (tmp_path / "journal" / PLACE).read_bytes()
    assert list(open_ledger(tmp_path).read()) == ["resource/other.md"]


def test_a_torn_line_takes_no_other_along(tmp_path: Path) -> None:
    open_ledger(tmp_path).note(Reading("resource/a.md"))
    place = tmp_path / "journal" / PLACE
    with place.open("ab") as file:
        file.write(b'{"path": "resource/b.md", "se')
    ledger = open_ledger(tmp_path)
    assert list(ledger.read()) == ["resource/a.md"]
    ledger.note(Reading("resource/c.md"))
    assert list(ledger.read()) == list(open_ledger(tmp_path).read())
    assert {*ledger.read()} == {"resource/a.md", "resource/c.md"}
