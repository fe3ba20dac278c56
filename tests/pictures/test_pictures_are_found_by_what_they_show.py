"""With an embedding model that takes pictures, text finds them and they find text."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path

import pytest

from agentscope_reme import ReMe
from agentscope_reme.errors import BadInput, ModelRequired, ReMeError
from agentscope_reme.messages import DataBlock
from agentscope_reme.settings import Settings
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

BOARD = f"resource/{DAY}/whiteboard.png"


def save(root: Path, path: str, data: bytes) -> None:
    place = root / "memory" / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(data)


async def test_a_picture_of_a_conversation_is_found_by_text_and_leads_to_where_it_was_said(
    open_memory: Open, provider: LoopbackProvider
) -> None:
    async with open_memory(embedding_model=seeing_model(provider)) as reme:
        await reme.record("talk", [turn("Here is my photo.", BRIDGE)])
        await reme.write("digest/wiki/food.md", "Pasta with olives.")
        assert await reme.drain()
        assert pictures_sent(provider) == [BRIDGE]
        assert (await reme.status()).vectors_pending == 0
        found = await reme.search("a red bridge")
        (hit,) = [hit for hit in found.hits if hit.media_type]
        assert (hit.path, hit.media_type) == (SAID, "image/png")
        assert hit.said_in == "session/dialog/talk.jsonl:2-2"
        assert hit.date == DAY
        assert sum(hit.parts.values()) == pytest.approx(hit.score)
        assert f"(said in {hit.said_in})" in found.answer
        assert "session/dialog/talk.jsonl" in {link.source_path for link in hit.inlinks}
        image = await reme.read_image(hit.path)
        assert base64.b64decode(image.data) == BRIDGE


async def test_a_card_that_shows_it_is_linked(
    open_memory: Open, provider: LoopbackProvider, tmp_path: Path
) -> None:
    save(tmp_path, BOARD, CAT)
    async with open_memory(embedding_model=seeing_model(provider)) as reme:
        await reme.write(f"daily/{DAY}/pets.md", f"![[{BOARD}]]")
        assert await reme.drain()
        (hit,) = [hit for hit in (await reme.search("a sleeping cat")).hits if hit.media_type]
        assert [link.source_path for link in hit.inlinks] == [f"daily/{DAY}/pets.md"]


async def test_a_picture_finds_pictures_and_texts(
    open_memory: Open, provider: LoopbackProvider, tmp_path: Path
) -> None:
    save(tmp_path, BOARD, BRIDGE + b" drawn")
    async with open_memory(embedding_model=seeing_model(provider)) as reme:
        await reme.record("talk", [turn("Here is my photo.", BRIDGE)])
        await reme.write("digest/wiki/walks.md", "The red bridge over the water.")
        await reme.write("digest/wiki/food.md", "Pasta with olives.")
        assert await reme.drain()
        asked = DataBlock(media_type="image/png", data=base64.b64encode(BRIDGE).decode())
        for image in (SAID, asked):
            found = await reme.search("", image=image, limit=4)
            assert [hit.path for hit in found.hits][:2] == [SAID, BOARD]
            assert [hit.path for hit in found.hits][2] == "digest/wiki/walks.md"
        both = await reme.search("pasta", image=SAID)
        assert "digest/wiki/food.md" in [hit.path for hit in both.hits]


async def test_filters_hold_for_pictures(
    open_memory: Open, provider: LoopbackProvider, tmp_path: Path
) -> None:
    save(tmp_path, BOARD, CAT)
    async with open_memory(embedding_model=seeing_model(provider)) as reme:
        await reme.record("talk", [turn("My photo.", BRIDGE)])
        assert await reme.drain()

        async def pictures(**conditions: str) -> set[str]:
            found = await reme.search("cat bridge", limit=9, **conditions)  # type: ignore[arg-type]
            return {hit.path for hit in found.hits if hit.media_type}

        assert await pictures() == {SAID, BOARD}
        assert await pictures(path_prefix="resource/") == {BOARD}
        assert await pictures(end_date="2026-06-17") == set()
        assert await pictures(start_date=DAY, end_date=DAY) == {SAID, BOARD}


async def test_passages_keep_most_of_the_places(
    open_memory: Open, provider: LoopbackProvider, tmp_path: Path
) -> None:
    for number in range(6):
        save(tmp_path, f"resource/{DAY}/{number}.png", BRIDGE + bytes([number]))
    async with open_memory(embedding_model=seeing_model(provider)) as reme:
        for number in range(8):
            await reme.write(f"digest/wiki/{number}.md", f"bridge {number}")
        assert await reme.drain()
        for limit, pictures in ((1, 0), (3, 1), (6, 2)):
            hits = (await reme.search("bridge", limit=limit)).hits
            assert len(hits) == limit
            assert sum(bool(hit.media_type) for hit in hits) == pictures
        pack = await reme.recall("bridge")
        assert not [hit for hit in pack.hits if hit.media_type]
        shown = await reme.recall("bridge", media=True)
        assert [block.path for block in shown.media] == [
            hit.path for hit in shown.hits if hit.media_type
        ][:3]


async def test_a_text_model_costs_pictures_nothing(
    open_memory: Open, provider: LoopbackProvider, tmp_path: Path
) -> None:
    save(tmp_path, BOARD, CAT)
    async with open_memory(embedding_model=blind_model(provider)) as reme:
        await reme.record("talk", [turn("My photo.", BRIDGE)])
        assert await reme.drain()
        assert pictures_sent(provider) == []
        assert (await reme.status()).files == 1
        assert (await reme.search("sleeping cat")).counts.vector <= 1
        with pytest.raises(ModelRequired, match="takes no pictures"):
            await reme.search("", image=SAID)
    async with open_memory() as reme:
        with pytest.raises(ModelRequired, match="embedding_model"):
            await reme.search("", image=SAID)


async def test_a_picture_is_paid_for_once(
    open_memory: Open, provider: LoopbackProvider, tmp_path: Path
) -> None:
    save(tmp_path, BOARD, CAT)
    save(tmp_path, f"resource/{DAY}/same.png", CAT)
    async with open_memory(embedding_model=seeing_model(provider)) as reme:
        assert await reme.drain()
        assert pictures_sent(provider) == [CAT]
        await reme.move(BOARD, f"resource/{DAY}/moved.png")
        await reme.reindex()
        assert await reme.drain()
    for place in (tmp_path / "memory" / "metadata").glob("index-*"):
        place.unlink()
    async with open_memory(embedding_model=seeing_model(provider)) as reme:
        assert await reme.drain()
        hits = (await reme.search("sleeping cat", limit=9)).hits
        assert {hit.path for hit in hits} == {
            f"resource/{DAY}/moved.png",
            f"resource/{DAY}/same.png",
        }
    assert pictures_sent(provider) == [CAT]


async def test_what_is_deleted_or_replaced_is_not_found(
    open_memory: Open, provider: LoopbackProvider, tmp_path: Path
) -> None:
    save(tmp_path, BOARD, CAT)
    async with open_memory(embedding_model=seeing_model(provider)) as reme:
        assert await reme.drain()
        save(tmp_path, BOARD, BRIDGE)
        await reme.reindex()
        assert await reme.drain()
        (hit,) = (await reme.search("red bridge water")).hits
        assert (hit.path, round(hit.scores["vector"])) == (BOARD, 1)
        await reme.delete(BOARD)
        assert (await reme.search("red bridge water")).hits == []


async def test_forgetting_reaches_the_vector_and_its_cache(
    open_memory: Open, provider: LoopbackProvider, tmp_path: Path
) -> None:
    async with open_memory(embedding_model=seeing_model(provider)) as reme:
        await reme.record("talk", [turn("My secret photo.", BRIDGE)])
        assert await reme.drain()
        store = reme.application.components.store
        (space,) = store.vector_spaces()
        keys = [chunk_key for chunk_key, *_ in _all_pictures(store, space)]
        assert store.kept_vectors(space, keys)
        await reme.forget(query="secret photo", dry_run=False)
        assert not (tmp_path / "memory" / SAID).exists()
        assert store.kept_vectors(space, keys) == {}
        assert store.picture_counts(space) == (0, 0)
        assert [h for h in (await reme.search("red bridge")).hits if h.media_type] == []


async def test_users_do_not_see_each_others_pictures(
    open_memory: Open, provider: LoopbackProvider
) -> None:
    model = seeing_model(provider)
    async with (
        open_memory(embedding_model=model, user="ann") as ann,
        open_memory(embedding_model=model, user="bob") as bob,
    ):
        await ann.record("talk", [turn("My photo.", BRIDGE)])
        assert await ann.drain()
        assert [hit.path for hit in (await ann.search("bridge")).hits if hit.media_type] == [SAID]
        assert (await bob.search("bridge")).hits == []
        with pytest.raises(BadInput):
            await bob.search("", image=f"../ann/{SAID}")


@pytest.mark.parametrize(
    ("data", "reason"),
    [(b"not a picture at all", "not a PNG"), (BRIDGE + b"x" * 2000, "more than 1000")],
)
async def test_a_hostile_picture_is_counted_and_passed_over(
    open_memory: Open, provider: LoopbackProvider, tmp_path: Path, data: bytes, reason: str
) -> None:
    save(tmp_path, f"resource/{DAY}/odd.png", data)
    save(tmp_path, BOARD, CAT)
    quiet = Settings(watch=False, fsync=False, embedded_picture_bytes=1000)
    async with open_memory(embedding_model=seeing_model(provider), settings=quiet) as reme:
        assert await reme.drain()
        status = await reme.status()
        assert [reason in said for said in status.last_failures.values()] == [True]
        assert pictures_sent(provider) == [CAT]
        assert (await reme.search("sleeping cat")).hits[0].path == BOARD
        reme.application.components.embedder.fill_soon()  # type: ignore[union-attr]
        assert await reme.drain()
        assert (await reme.status()).failures == status.failures


async def test_a_picture_the_provider_refuses_holds_nothing_up(
    open_memory: Open, provider: LoopbackProvider, tmp_path: Path
) -> None:
    save(tmp_path, f"resource/{DAY}/a.png", BRIDGE)
    save(tmp_path, f"resource/{DAY}/b.png", CAT)
    provider.embed(status=400, message="image too small")
    async with open_memory(embedding_model=seeing_model(provider)) as reme:
        assert await reme.drain()
        assert (await reme.status()).vectors_pending == 1
        assert len((await reme.search("bridge cat")).hits) == 1


async def test_an_outage_is_told_to_who_searches_by_a_picture(
    open_memory: Open, provider: LoopbackProvider, clock: FakeClock
) -> None:
    async with open_memory(embedding_model=seeing_model(provider)) as reme:
        await reme.record("talk", [turn("My photo.", BRIDGE)])
        assert await reme.drain()
        provider.embed(status=500).embed(status=500)  # neither the picture nor anything else
        found = await reme.search("", image=SAID)
        assert (found.success, found.keywords_only, found.hits) == (False, True, [])
        assert "does not answer" in found.answer
        assert (await reme.search("photo", image=SAID)).success


async def test_a_picture_that_is_refused_as_a_query_is_no_outage(
    open_memory: Open, provider: LoopbackProvider
) -> None:
    async with open_memory(embedding_model=seeing_model(provider)) as reme:
        await reme.record("talk", [turn("My photo.", BRIDGE)])
        assert await reme.drain()
        provider.embed(status=400, message="image too small")
        with pytest.raises(BadInput, match="image too small"):
            await reme.search("", image=SAID)
        assert not (await reme.search("photo")).keywords_only
        data = base64.b64encode(BRIDGE).decode()
        for odd in (
            DataBlock(media_type="audio/wav", data=data),
            DataBlock(media_type="image/png"),
            DataBlock(media_type="image/png", data="A" * 8_000_000),
            "digest/wiki/none.png",
        ):
            with pytest.raises(ReMeError):
                await reme.search("photo", image=odd)
        with pytest.raises(BadInput, match="empty"):
            await reme.search("")


async def test_a_process_without_such_a_model_leaves_pictures_in_the_index(
    open_memory: Open, provider: LoopbackProvider, tmp_path: Path
) -> None:
    save(tmp_path, BOARD, CAT)
    async with open_memory(embedding_model=seeing_model(provider)) as reme:
        assert await reme.drain()
        async with open_memory() as blind:
            assert (await blind.doctor()).differences == []
            await blind.write("digest/wiki/a.md", "egret")
            assert [hit.path for hit in (await blind.search("whiteboard")).hits] == [BOARD]
        assert (await reme.doctor()).differences == []
        assert (await reme.search("sleeping cat")).hits[0].path == BOARD
    (tmp_path / "memory" / BOARD).unlink()
    async with open_memory() as blind:
        assert (await blind.search("whiteboard")).hits == []
    assert pictures_sent(provider) == [CAT]


def _all_pictures(store: object, space: str) -> list[tuple[str, str, str]]:
    """Every picture of the index: none of them has a vector in a space nobody uses."""
    return store.missing_pictures("nobody's", 99)  # type: ignore[attr-defined,no-any-return]
