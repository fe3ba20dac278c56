"""Pictures among many others, and in places that change while a model is asked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from agentscope_reme import ReMe
from agentscope_reme.testing import FakeClock
from tests.loopback.server import LoopbackProvider
from tests.pictures.parts import BRIDGE, CAT, DAY, pictures_sent, seeing_model, turn

Open = Callable[..., ReMe]

pytestmark = pytest.mark.usefixtures("dashscope_address")


async def test_a_picture_of_a_day_is_found_behind_many_of_other_days(
    open_memory: Open, provider: LoopbackProvider
) -> None:
    async with open_memory(embedding_model=seeing_model(provider)) as reme:
        for number in range(12):
            said = turn("A photo.", BRIDGE + b" " * number, id=f"m-{number}")
            await reme.record("talk", [said])
        other = b"\x89PNG\r\n\x1a\n" + b"a bridge, and many other things in front of it"
        await reme.record("walk", [turn("A photo.", other, id="w-1", day="2026-05-01")])
        assert await reme.drain()
        found = await reme.search("red bridge over water", limit=2, end_date="2026-05-31")
        assert [hit.date for hit in found.hits if hit.media_type] == ["2026-05-01"]


async def test_a_picture_whose_folder_became_a_file_holds_up_no_other(
    open_memory: Open, provider: LoopbackProvider, tmp_path: Path, clock: FakeClock
) -> None:
    folder = tmp_path / "memory" / "resource" / DAY
    (folder / "a").mkdir(parents=True)
    (folder / "a" / "odd.png").write_bytes(BRIDGE)
    (folder / "b.png").write_bytes(CAT)
    provider.embed(status=500).embed(status=500)
    async with open_memory(embedding_model=seeing_model(provider)) as reme:
        assert await reme.drain()
        assert (await reme.status()).vectors_pending == 2
        (folder / "a" / "odd.png").unlink()
        (folder / "a").rmdir()
        (folder / "a").write_text("no folder")
        sent = len(pictures_sent(provider))
        clock.advance(31)
        await reme.search("cat")  # lets the background try
        assert await reme.drain()
        assert pictures_sent(provider)[sent:] == [CAT]
        assert (await reme.search("sleeping cat")).hits[0].path == f"resource/{DAY}/b.png"
