from __future__ import annotations

import pytest

from agentscope_reme.errors import NotFound
from agentscope_reme.files.changes import Write
from tests.vault.conftest import House


def test_old_changes_go_with_what_only_they_kept(house: House) -> None:
    def write(path: str, text: str) -> str:
        change = [Write(path, text.encode())]
        return house.vault.commit(change, actor="user", operation="write").change_id

    write("a.md", "one")
    old = write("a.md", "two")
    write("b.md", "b")
    trashed = house.vault.delete("b.md", actor="user").change_id
    house.clock.advance(days=80)
    recent = write("a.md", "three")
    assert house.vault.expire() == 0
    house.clock.advance(days=40)
    house.journal.open()
    assert house.vault.expire() > 0
    assert [record.change_id for record in house.vault.history()] == [recent]
    assert not (house.workspace.trash / trashed).exists()
    with pytest.raises(NotFound):
        house.vault.undo(old, actor="user")
    house.vault.undo(recent, actor="user")
    assert house.files() == {"a.md": "two"}
