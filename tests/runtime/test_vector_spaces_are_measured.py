"""A vector space is what was measured: another model, or another width, is another space."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from agentscope_reme import ReMe, Settings
from agentscope_reme.errors import ModelFailed
from agentscope_reme.messages import DataBlock
from agentscope_reme.testing import FakeClock
from tests.loopback.vectors import vector_of

QUIET = Settings(watch=False, fsync=False)
BATCH = 64
"""Texts a background run asks for at once."""

Open = Callable[[object], ReMe]


class Model:
    """An embedding port that counts what it is asked."""

    def __init__(self, name: str = "small", width: int = 8) -> None:
        self.space_id = name
        self.width = width
        self.asked: list[str] = []
        self.asking = asyncio.Event()
        self.gate = asyncio.Event()
        self.gate.set()

    async def embed(self, inputs: Sequence[str | DataBlock]) -> list[list[float]]:
        self.asking.set()
        await self.gate.wait()
        texts = [str(item) for item in inputs]
        self.asked += texts
        return [vector_of(text, self.width) for text in texts]


class AsksApart(Model):
    """One that wants questions marked."""

    async def embed_query(self, text: str) -> list[float]:
        return (await self.embed([f"query: {text}"]))[0]


@pytest.fixture
def open_with(tmp_path: Path) -> Open:
    return lambda model: ReMe(
        tmp_path / "memory", settings=QUIET, clock=FakeClock(), embedding_model=model
    )


@pytest.fixture
async def noted(open_with: Open) -> Model:
    """Two notes in the workspace, embedded by this model."""
    model = Model()
    async with open_with(model) as reme:
        await reme.write("digest/wiki/a.md", "grey heron")
        await reme.write("digest/wiki/b.md", "little egret")
        assert await reme.drain()
    assert sorted(model.asked) == ["grey heron", "little egret"]
    model.asked.clear()
    return model


async def test_nothing_is_asked_again_after_a_restart(open_with: Open, noted: Model) -> None:
    async with open_with(noted) as reme:
        assert await reme.drain()
        assert (await reme.status()).vectors_pending == 0
    assert noted.asked == []


@pytest.mark.parametrize("lost", ["index-*", "*.db"], ids=["index", "index and vectors"])
async def test_a_lost_index_costs_no_calls_while_its_vectors_are_there(
    open_with: Open, noted: Model, tmp_path: Path, lost: str
) -> None:
    for place in (tmp_path / "memory" / "metadata").glob(lost):
        place.unlink()
    async with open_with(noted) as reme:
        assert await reme.drain()
        assert (await reme.search("heron")).counts.hybrid
        assert (await reme.status()).vectors_pending == 0
    assert len(noted.asked) == (1 if lost == "index-*" else 3)  # the query, and the two notes


async def test_a_moved_workspace_takes_its_vectors_along(
    open_with: Open, noted: Model, tmp_path: Path
) -> None:
    moved = (tmp_path / "memory").rename(tmp_path / "elsewhere")
    async with ReMe(moved, settings=QUIET, clock=FakeClock(), embedding_model=noted) as reme:
        await reme.reindex()
        assert await reme.drain()
        assert (await reme.status()).vectors_pending == 0
    assert noted.asked == []


async def test_another_model_is_another_space_and_keywords_answer_meanwhile(
    open_with: Open, noted: Model
) -> None:
    other = Model("large", 12)
    other.gate.clear()
    async with open_with(other) as reme:
        await other.asking.wait()
        assert (await reme.status()).vectors_pending == 2
        found = await reme.search("heron", vector_weight=0.0)
        assert [hit.path for hit in found.hits] == ["digest/wiki/a.md"]
        other.gate.set()
        assert await reme.drain()
        found = await reme.search("heron")
        assert found.hits[0].scores.keys() == {"keyword", "vector"}
        assert (await reme.status()).vectors_pending == 0
    async with open_with(noted) as reme:  # and back: the first space is still there
        assert await reme.drain()
        assert (await reme.search("egret")).counts.hybrid
    assert noted.asked == ["egret"]


async def test_a_search_leaves_a_space_alone_while_most_of_it_is_missing(
    open_with: Open, noted: Model
) -> None:
    async with open_with(None) as reme:
        for number in range(BATCH):
            await reme.write(f"digest/wiki/{number}.md", f"note {number} of many")
    other = Model("large")
    other.gate.clear()
    async with open_with(other) as reme:
        await other.asking.wait()
        found = await reme.search("heron")  # does not even ask: the gate is shut
        assert found.counts.vector == 0
        assert found.hits[0].path == "digest/wiki/a.md"
        other.gate.set()
        assert await reme.drain()
        assert (await reme.search("heron")).counts.hybrid


async def test_a_model_that_changes_its_width_is_measured_not_trusted(
    open_with: Open, noted: Model
) -> None:
    wider = Model(noted.space_id, 16)
    async with open_with(wider) as reme:
        await reme.drain()
        assert (await reme.search("heron")).counts.vector == 0  # a query of 16 numbers finds no 8s
        assert await reme.drain()  # noticed: everything is made anew
        assert (await reme.search("heron")).counts.vector == 2
        assert (await reme.status()).failures == {}
    assert sorted(wider.asked) == ["grey heron", "heron", "heron", "little egret"]


async def test_a_width_that_changes_from_call_to_call_is_a_failure_and_mixes_nothing(
    open_with: Open,
) -> None:
    class Fickle(Model):
        async def embed(self, inputs: Sequence[str | DataBlock]) -> list[list[float]]:
            self.width += 1
            return await super().embed(inputs)

    async with open_with(Fickle()) as reme:
        for number in range(70):
            await reme.write(f"digest/wiki/{number}.md", f"note {number} of many")
        await reme.drain()
        status = await reme.status()
        assert "width" in status.last_failures["embedding"]
        assert (await reme.search("note 5")).hits  # keywords answer


class Picky(Model):
    async def embed(self, inputs: Sequence[str | DataBlock]) -> list[list[float]]:
        if any("poison" in str(item) for item in inputs):
            raise ModelFailed("picky", "the text is refused", "Send another one.")
        return await super().embed(inputs)


class Lost(Model):
    async def embed(self, inputs: Sequence[str | DataBlock]) -> list[list[float]]:
        vectors = await super().embed(inputs)
        lost = ["poison" in str(item) for item in inputs]
        return [[0.0] * 8 if bad else v for bad, v in zip(lost, vectors, strict=True)]


@pytest.mark.parametrize(("kind", "said"), [(Picky, "is refused"), (Lost, "direction")])
async def test_a_text_the_model_refuses_holds_up_no_other(
    open_with: Open, kind: type[Model], said: str
) -> None:

    async with open_with(None) as reme:
        for number in range(BATCH):
            text = "poison for the model" if number == 7 else f"note {number} of many"
            await reme.write(f"digest/wiki/{number:02}.md", text)
    clock = FakeClock()
    model = kind()
    async with ReMe(
        reme.application.components.workspace.root,
        settings=QUIET,
        clock=clock,
        embedding_model=model,
    ) as again:
        assert await again.drain()  # a first failure may as well be an outage
        clock.advance(31)
        await again.search("note")
        assert await again.drain()
        status = await again.status()
        assert status.vectors_pending == 1
        assert said in status.last_failures["embedding"]
        assert (await again.search("note 5")).counts.hybrid
        asked = len(model.asked)
        await again.write("digest/wiki/new.md", "something new")
        assert await again.drain()
        assert model.asked[asked:] == ["something new"]
        assert (await again.status()).vectors_pending == 1


async def test_questions_are_embedded_as_questions(open_with: Open) -> None:
    model = AsksApart()
    async with open_with(model) as reme:
        await reme.write("digest/wiki/a.md", "grey heron")
        assert await reme.drain()
        await reme.search("which bird")
    assert model.asked == ["grey heron", "query: which bird"]


async def test_what_is_recorded_gets_vectors_without_being_distilled(open_with: Open) -> None:
    model = Model()
    async with open_with(model) as reme:
        await reme.record("s", [{"role": "user", "content": "I saw a heron."}], distil=False)
        assert await reme.drain()
        assert (await reme.status()).vectors_pending == 0
    assert len(model.asked) == 1


async def test_loading_is_begun_at_the_start_and_a_question_meanwhile_is_no_failure(
    open_with: Open,
) -> None:
    class Slow(Model):
        async def prepare(self) -> None:
            await self.gate.wait()

    model = Slow()
    async with open_with(model) as reme:
        await reme.write("digest/wiki/a.md", "grey heron")
        assert await reme.drain()
    model.gate.clear()
    settings = QUIET.model_copy(update={"embedding_deadline_ms": 1})
    async with ReMe(
        reme.application.components.workspace.root,
        settings=settings,
        clock=FakeClock(),
        embedding_model=model,
    ) as again:
        assert (await again.search("heron")).counts.vector == 0  # in time, without a vector
        model.gate.set()
        assert await again.drain()
        assert (await again.status()).failures == {}
