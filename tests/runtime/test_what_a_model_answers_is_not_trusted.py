"""Whatever an embedding model does, a search answers, and what can be stored is stored."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme import ReMe, Settings
from agentscope_reme.errors import ModelFailed
from agentscope_reme.messages import DataBlock
from agentscope_reme.testing import FakeClock
from tests.loopback.vectors import vector_of

QUIET = Settings(watch=False, fsync=False)

Open = Callable[[object], ReMe]


class Model:
    """An embedding port whose next answers can be anything."""

    def __init__(self, name: str = "small", width: int = 8) -> None:
        self.space_id = name
        self.width = width
        self.odd: Any = None
        self.factor = 1.0
        self.refused = ""

    async def embed(self, inputs: Sequence[str | DataBlock]) -> Any:
        if self.refused and any(self.refused in str(item) for item in inputs):
            raise ModelFailed(self.refused, "refused", "Say something else.")
        if isinstance(self.odd, Exception):
            raise self.odd
        if self.odd is not None:
            return [self.odd for _ in inputs]
        return [
            [number * self.factor for number in vector_of(str(item), self.width)] for item in inputs
        ]


class AsksApart(Model):
    """One that wants questions marked."""

    async def embed_query(self, text: str) -> Any:
        return (await self.embed([text]))[0]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def open_with(tmp_path: Path, clock: FakeClock) -> Open:
    return lambda model: ReMe(
        tmp_path / "memory", settings=QUIET, clock=clock, embedding_model=model
    )


ODD = {
    "not a number": [math.nan] * 8,
    "endless": [math.inf] * 8,
    "all zero": [0.0] * 8,
    "no numbers": [],
    "nothing": [None] * 8,
    "texts": ["a"] * 8,
    "no list": 3,
    "too large to be squared": [10**400] * 8,
}


@pytest.mark.parametrize("kind", [Model, AsksApart])
@pytest.mark.parametrize("odd", ODD.values(), ids=ODD.keys())
async def test_an_odd_vector_is_a_failure_of_the_model(
    open_with: Open, odd: Any, kind: type[Model]
) -> None:
    model = kind()
    async with open_with(model) as reme:
        await reme.write("digest/wiki/a.md", "grey heron")
        assert await reme.drain()
        model.odd = odd
        found = await reme.search("heron")
        assert [hit.path for hit in found.hits] == ["digest/wiki/a.md"]
        assert found.keywords_only
        assert (await reme.status()).failures == {"embedding": 1}


@pytest.mark.parametrize("error", [ConnectionError("gone"), RuntimeError("out of memory")])
async def test_a_model_that_raises_what_it_likes_costs_no_answer(
    open_with: Open, error: Exception
) -> None:
    model = Model()
    async with open_with(model) as reme:
        await reme.write("digest/wiki/a.md", "grey heron")
        assert await reme.drain()
        model.odd = error
        found = await reme.search("heron")
        assert [hit.path for hit in found.hits] == ["digest/wiki/a.md"]
        assert found.keywords_only
        assert str(error) in str((await reme.status()).last_failures)


@pytest.mark.parametrize("factor", [1e200, 1e-200, 7e4, 1e-9])
async def test_a_vector_of_any_length_has_a_direction(open_with: Open, factor: float) -> None:
    model = Model()
    model.factor = factor
    async with open_with(model) as reme:
        await reme.write("digest/wiki/a.md", "grey heron")
        assert await reme.drain()
        assert (await reme.status()).vectors_pending == 0
        (hit,) = (await reme.search("grey heron")).hits
        assert hit.scores["vector"] == pytest.approx(1.0, abs=1e-3)


async def test_a_space_whose_name_begins_alike_is_another_one(open_with: Open) -> None:
    large = Model("small/large", 12)
    async with open_with(large) as reme:
        await reme.write("digest/wiki/a.md", "grey heron")
        assert await reme.drain()
    async with open_with(Model("small")) as reme:
        assert await reme.drain()
        assert (await reme.search("heron")).counts.vector == 1
        assert (await reme.status()).vectors_pending == 0
        store = reme.application.components.store
        assert sorted(store.vector_spaces()) == ["small/8/unit", "small/large/12/unit"]


async def test_what_the_model_refuses_for_good_is_not_still_being_made(
    open_with: Open, clock: FakeClock
) -> None:
    model = Model()
    model.refused = "egret"
    async with open_with(model) as reme:
        await reme.write("digest/wiki/a.md", "grey heron")
        await reme.write("digest/wiki/b.md", "little egret")
        assert await reme.drain()
        clock.advance(31)
        await reme.search("heron")  # lets the background try, and find out which of them it is
        assert await reme.drain()
        assert (await reme.status()).vectors_pending == 1
        found = await reme.search("heron", path_prefix="resource/")
        assert (found.hits, found.keywords_only, found.notice) == ([], False, "")
