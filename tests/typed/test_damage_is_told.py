"""After damage the store is empty, and says for as long as the damaged file is there why."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentscope_reme.errors import StorageFailed
from tests.typed.conftest import Open


async def test_the_status_names_what_was_set_aside(open_memory: Open, tmp_path: Path) -> None:
    async with open_memory() as reme:
        await reme.add_memory("tea", "alice")
        status = await reme.status()
        assert status.details["damaged"] == []
        assert "set aside" not in status.answer
    place = tmp_path / "memory" / "typed" / "memories.db"
    place.write_bytes(b"no database" * 1000)
    reme = open_memory()
    with pytest.raises(StorageFailed, match="damaged-1"):
        await reme.list_memory("alice")
    assert await reme.list_memory("alice") == []  # opened again
    status = await reme.status()
    await reme.close()
    assert status.details["damaged"] == ["memories.db.damaged-1"]
    assert "Damaged and set aside" in status.answer
    place.with_name("memories.db.damaged-1").unlink()
    async with open_memory() as reme:
        assert (await reme.status()).details["damaged"] == []
