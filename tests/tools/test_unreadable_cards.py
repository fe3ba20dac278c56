"""A card the disk refuses to give is listed as such, and stops nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from agentscope_reme.errors import StorageFailed
from agentscope_reme.files.views import FileView
from agentscope_reme.tools import card_scope
from tests.tools.conftest import Desk

DAY = "2026-06-20"
LOCKED = f"daily/{DAY}/locked.md"
OWN = card_scope(actor="auto_memory", day=DAY, session_id="a")


class LockedView:
    """The view behind it, but for one file that cannot be read."""

    def __init__(self, view: FileView) -> None:
        self._view = view

    def __getattr__(self, name: str) -> Any:
        return getattr(self._view, name)

    def read(self, path: str) -> bytes:
        if path == LOCKED:
            raise StorageFailed(path, "reading failed: Permission denied", "Check its rights.")
        return self._view.read(path)


@pytest.fixture
def locked(desk: Desk) -> Desk:
    desk.operations().daily_write("login", "About login", "Body", "a")
    desk.put(LOCKED, "---\nname: locked\nsession_id: b\n---\nsecret\n")
    return replace(desk, view=LockedView(desk.view))  # type: ignore[arg-type]


def test_every_list_names_it_and_goes_on(locked: Desk) -> None:
    files = locked.operations()
    for answer in (files.daily_list(DAY).answer, files.list(f"daily/{DAY}").answer):
        told, other = sorted(answer.split("\n"), key=lambda line: LOCKED not in line)
        assert LOCKED in told
        assert told.endswith("(cannot be read)")
        assert "About login" in other
    assert [entry.path for entry in files.daily_list(DAY).entries] == [
        LOCKED,
        f"daily/{DAY}/login.md",
    ]


def test_the_page_of_the_day_lists_it(locked: Desk) -> None:
    assert locked.operations().daily_reindex(DAY).replaced == 1
    page = locked.text(f"daily/{DAY}.md")
    assert f"- [[{LOCKED}]] (cannot be read)\n" in page
    assert "About login" in page


def test_cards_are_written_beside_it(locked: Desk) -> None:
    assert locked.operations(OWN).daily_write("login", "", "new").path.endswith("/login.md")
    locked.operations().daily_write("tea", "", "green", "c")
    assert "(cannot be read)" in locked.text(f"daily/{DAY}.md")


def test_it_is_never_overwritten(locked: Desk) -> None:
    result = locked.operations().daily_write("locked", "", "mine", "b")
    assert result.path == LOCKED.replace("locked", "locked-2")


def test_asking_for_it_alone_tells_why(locked: Desk) -> None:
    for call in (locked.operations().read, locked.operations().stat):
        with pytest.raises(StorageFailed, match="Permission denied"):
            call(LOCKED)
