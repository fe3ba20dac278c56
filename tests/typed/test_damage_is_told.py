"""After damage the status says what was saved, for as long as the damaged file is there."""

from __future__ import annotations

from pathlib import Path

from tests.typed.conftest import Open


async def test_the_status_names_what_was_set_aside(open_memory: Open, tmp_path: Path) -> None:
    async with open_memory() as reme:
        await reme.add_memory("tea", "alice")
        status = await reme.status()
        assert status.details["damaged"] == []
        assert "set aside" not in status.answer
    place = tmp_path / "memory" / "typed" / "memories.db"
    place.write_bytes(b"\0" * 4096 + place.read_bytes()[4096:])
    for _ in range(2):  # and again by those who open it later
        async with open_memory() as reme:
            assert [node.content for node in await reme.list_memory("alice")] == ["tea"]
            status = await reme.status()
        assert status.details["damaged"] == ["memories.db.damaged-1"]
        assert status.details["salvaged"] == {"memories.db.damaged-1": {"saved": 1, "lost": 0}}
        assert "set aside as memories.db.damaged-1: 1 memories were saved" in status.answer
    place.with_name("memories.db.damaged-1").unlink()
    async with open_memory() as reme:
        assert (await reme.status()).details["damaged"] == []
