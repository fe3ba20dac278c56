"""Pictures among many others, and in places that change while a model is asked."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path

import pytest

from agentscope_reme import ReMe
from agentscope_reme.errors import BadInput
from agentscope_reme.messages import DataBlock
from agentscope_reme.testing import FakeClock
from tests.loopback.server import LoopbackProvider
from tests.pictures.parts import (
    BRIDGE,
    CAT,
    DAY,
    SAID,
    blind_model,
    pictures_sent,
    seeing_model,
    turn,
)

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


@pytest.mark.parametrize(
    "data", ["!!! no base64", "PHN2Zz4=", base64.b64encode(b"no picture").decode(), "AAA"]
)
async def test_data_that_is_no_picture_is_not_sent(
    open_memory: Open, provider: LoopbackProvider, data: str
) -> None:
    async with open_memory(embedding_model=seeing_model(provider)) as reme:
        for media_type in ("image/png", "image/svg+xml"):
            with pytest.raises(BadInput, match="PNG, JPEG"):
                await reme.search("photo", image=DataBlock(media_type=media_type, data=data))
    assert provider.requests == []


async def test_a_picture_goes_by_what_it_is_not_by_what_it_is_called(
    open_memory: Open, provider: LoopbackProvider
) -> None:
    async with open_memory(embedding_model=seeing_model(provider)) as reme:
        await reme.record("talk", [turn("A photo.", BRIDGE)])
        assert await reme.drain()
        named = DataBlock(media_type="image/jpeg", data=base64.b64encode(BRIDGE).decode())
        assert (await reme.search("", image=named)).hits[0].media_type == "image/png"
    assert "image/jpeg" not in str(provider.requests[-1].body)


async def test_one_picture_in_two_places_is_paid_for_once_and_comes_back(
    open_memory: Open, provider: LoopbackProvider, tmp_path: Path
) -> None:
    board = f"resource/{DAY}/board.png"
    place = tmp_path / "memory" / board
    place.parent.mkdir(parents=True)
    place.write_bytes(BRIDGE)
    async with open_memory(embedding_model=seeing_model(provider)) as reme:

        async def pictures() -> set[str]:
            found = await reme.search("red bridge", limit=9)
            return {hit.path for hit in found.hits if hit.media_type}

        await reme.record("talk", [turn("A photo.", BRIDGE)])
        assert await reme.drain()
        assert await pictures() == {board, SAID}
        deleted = await reme.delete(board)
        assert await pictures() == {SAID}
        await reme.undo(deleted.change_id)
        assert await reme.drain()
        assert await pictures() == {board, SAID}
    assert pictures_sent(provider) == [BRIDGE]


async def test_models_that_see_and_models_that_do_not_may_take_turns(
    open_memory: Open, provider: LoopbackProvider, tmp_path: Path
) -> None:
    place = tmp_path / "memory" / "resource" / DAY / "pet.png"
    place.parent.mkdir(parents=True)
    place.write_bytes(CAT)
    for model in (blind_model, seeing_model, blind_model, seeing_model):
        async with open_memory(embedding_model=model(provider)) as reme:
            assert await reme.drain()
            assert (await reme.status()).vectors_pending == 0
            hits = (await reme.search("sleeping cat")).hits
            assert [hit.media_type for hit in hits] == ["image/png"] * (model is seeing_model)
    assert pictures_sent(provider) == [CAT]
