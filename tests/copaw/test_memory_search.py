"""``memory_search``: weighted scores from 0 to 1, told as JSON, over files everybody may edit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from agentscope.tool import Toolkit, ToolResponse

from agentscope_reme import ReMe, ReMeCopaw
from agentscope_reme.copaw.embeddings import LimitedEmbeddings
from agentscope_reme.copaw.search import result_limit, score_limit
from agentscope_reme.errors import ModelFailed
from agentscope_reme.testing import FakeClock
from tests.copaw.conftest import QUIET, Open
from tests.loopback.server import LoopbackProvider


def rows(response: ToolResponse) -> list[dict[str, Any]]:
    (block,) = response.content
    assert block["type"] == "text"
    found: list[dict[str, Any]] = json.loads(block["text"])
    return found


def text_of(response: ToolResponse) -> str:
    return str(response.content[0]["text"])


async def fill(copaw: ReMeCopaw, files: dict[str, str]) -> None:
    for path, text in files.items():
        await copaw._memory.write(path, text)


async def test_a_hit_has_the_documented_fields(open_copaw: Open) -> None:
    async with open_copaw() as copaw:
        await fill(copaw, {"memory/2026-06-19.md": "# Notes\n\nWe deploy with Kubernetes.\n"})
        (row,) = rows(await copaw.memory_search(query="kubernetes", max_results=5))
        keyword = row["metadata"].pop("keyword")
        assert row == {
            "path": str(copaw.memory_path / "2026-06-19.md"),
            "start_line": 1,
            "end_line": 3,
            "score": 1.0,
            "snippet": "# Notes\n\nWe deploy with Kubernetes.",
            "source": "memory",
            "metadata": {"date": "2026-06-19", "name": ""},
        }
        assert keyword > 0


@pytest.mark.parametrize("query", ["", "   ", None, 7])
async def test_without_a_query_the_tool_says_so(open_copaw: Open, query: Any) -> None:
    async with open_copaw() as copaw:
        assert text_of(await copaw.memory_search(query)) == "Error: No query provided."


async def test_nothing_found_is_an_empty_array(open_copaw: Open) -> None:
    async with open_copaw() as copaw:
        assert rows(await copaw.memory_search("xylophone")) == []


async def test_a_search_that_cannot_be_made_is_told_in_words(open_copaw: Open) -> None:
    copaw = await open_copaw().start()
    await copaw.close()
    assert text_of(await copaw.memory_search("tea")).startswith("MemorySearch failed: ")


@pytest.mark.parametrize(
    ("given", "limit"),
    [(5, 5), (0, 1), (-3, 1), (1000, 100), ("7", 7), ("many", 5), (None, 5), (2.9, 2)],
)
def test_the_number_of_results_is_clamped(given: object, limit: int) -> None:
    assert result_limit(given) == limit


@pytest.mark.parametrize(
    ("given", "limit"),
    [
        (0.1, 0.1),
        (0, 0.001),
        (5, 0.999),
        ("0.5", 0.5),
        ("low", 0.1),
        (None, 0.1),
        (float("nan"), 0.1),
    ],
)
def test_the_lowest_score_is_clamped(given: object, limit: float) -> None:
    assert score_limit(given) == limit


async def test_rare_words_count_more_and_repeating_one_is_no_trick(open_copaw: Open) -> None:
    async with open_copaw() as copaw:
        files = {f"memory/n{n}.md": f"tea tea tea tea tea {n}" for n in range(9)}
        await fill(copaw, {**files, "memory/rare.md": "tea from a samovar"})
        found = rows(await copaw.memory_search("tea samovar", min_score=0.001))
        assert found[0]["path"].endswith("rare.md")


async def test_results_and_scores_are_limited(open_copaw: Open) -> None:
    async with open_copaw() as copaw:
        await fill(copaw, {f"memory/n{n}.md": "tea " * (9 - n) + "and cake" for n in range(8)})
        found = rows(await copaw.memory_search("tea", max_results=3))
        assert len(found) == 3
        assert [row["score"] for row in found] == sorted((r["score"] for r in found), reverse=True)
        assert found[0]["score"] == 1.0
        assert len(rows(await copaw.memory_search("tea", max_results="0"))) == 1  # type: ignore[arg-type]
        best = await copaw.memory_search("tea", max_results=100, min_score=0.999)
        assert len(rows(best)) == 1


async def test_a_weaker_hit_is_no_worthless_hit(open_copaw: Open) -> None:
    """Scores are shares of the best one, so the last of a few hits is not cut off as the worst."""
    async with open_copaw() as copaw:
        await fill(
            copaw,
            {
                "MEMORY.md": "# Memory\n\nTea, tea and tea.",
                "memory/2026-06-01.md": "Some tea, late.",
            },
        )
        assert len(rows(await copaw.memory_search("tea"))) == 2


@pytest.mark.parametrize("query", ["数据库连接", "我们用什么数据库？", "PostgreSQL"])
async def test_chinese_without_blanks_is_found(open_copaw: Open, query: str) -> None:
    async with open_copaw() as copaw:
        await fill(
            copaw,
            {
                "memory/2026-06-01.md": "数据库连接改为 PostgreSQL，端口 5433。",
                "memory/2026-06-02.md": "今天的天气很好。",
            },
        )
        assert rows(await copaw.memory_search(query))[0]["path"].endswith("2026-06-01.md")


async def test_the_answer_stays_valid_json_within_the_limit_of_a_tool(open_copaw: Open) -> None:
    settings = QUIET.model_copy(update={"tool_answer_bytes": 4096})
    async with open_copaw(settings=settings) as copaw:
        await fill(copaw, {f"memory/n{n:02}.md": f"tea {n} " + "wörter " * 60 for n in range(30)})
        answer = await copaw.memory_search("tea", max_results=30, min_score=0.001)
        found = rows(answer)
        assert len(text_of(answer).encode()) <= 4096
        assert found[-1]["metadata"]["left_out"] == 30 - len(found)


async def test_the_tool_can_be_registered_as_it_is(open_copaw: Open) -> None:
    toolkit = Toolkit()
    async with open_copaw() as copaw:
        toolkit.register_tool_function(copaw.memory_search)
        (schema,) = toolkit.get_json_schemas()
        parameters = schema["function"]["parameters"]["properties"]
        assert list(parameters) == ["query", "max_results", "min_score"]
        assert parameters["query"]["description"].startswith("What to look for")
        assert schema["function"]["description"].startswith("Search the long-term memory")


@pytest.fixture
def embedding_service(
    monkeypatch: pytest.MonkeyPatch, provider: LoopbackProvider
) -> LoopbackProvider:
    monkeypatch.setenv("EMBEDDING_MODEL_NAME", "m")
    monkeypatch.setenv("EMBEDDING_BASE_URL", provider.openai_url)
    monkeypatch.setenv("EMBEDDING_DIMENSIONS", "8")
    return provider


async def test_vectors_and_keywords_are_weighted_seven_to_three(
    open_copaw: Open, embedding_service: LoopbackProvider
) -> None:
    async with open_copaw() as copaw:
        await fill(copaw, {"memory/a.md": "tea with milk", "memory/b.md": "tea and cake, cake"})
        await copaw._memory.drain()
        found = rows(await copaw.memory_search("tea", min_score=0))
        best = max(row["metadata"]["keyword"] for row in found)
        for row in found:
            words = row["metadata"]["keyword"] / best
            meaning = max(0.0, row["metadata"]["vector"])
            assert row["score"] == pytest.approx(0.7 * meaning + 0.3 * words, abs=1e-5)
        assert [row["score"] for row in found] == sorted((r["score"] for r in found), reverse=True)
    (call,) = [r for r in embedding_service.requests if r.body["input"] == ["tea"]]
    assert call.body["dimensions"] == 8


async def test_without_full_text_search_the_vectors_answer(
    monkeypatch: pytest.MonkeyPatch, open_copaw: Open, embedding_service: LoopbackProvider
) -> None:
    monkeypatch.setenv("FTS_ENABLED", "false")
    async with open_copaw() as copaw:
        await fill(copaw, {"memory/a.md": "tea with milk", "memory/b.md": "coffee"})
        await copaw._memory.drain()
        for row in rows(await copaw.memory_search("tea", min_score=0)):
            assert "keyword" not in row["metadata"]


async def test_a_failing_service_costs_the_vectors_of_one_search_only(
    open_copaw: Open, embedding_service: LoopbackProvider
) -> None:
    embedding_service.embed(status=500, message="down")
    async with open_copaw() as copaw:
        await fill(copaw, {"memory/a.md": "tea with milk"})
        await copaw._memory.drain()
        (row,) = rows(await copaw.memory_search("tea"))
        assert row["path"].endswith("a.md")
        assert (await copaw.status()).failures


async def test_candidates_follow_the_multiplier(open_copaw: Open) -> None:
    async with open_copaw(candidate_multiplier=2.0) as copaw:
        await fill(copaw, {f"memory/n{n}.md": "tea" for n in range(30)})
        step = copaw._search_step
        found = await step(copaw._memory.application, query="tea", limit=4, candidates_per_hit=2.0)
        assert found.counts.keyword == 8


async def test_only_places_of_memory_are_searched(open_copaw: Open) -> None:
    """A host keeps its own Markdown in the same folder; its prompt shows that anyway."""
    told = "Tea is brewed at 75 degrees.\n"
    places = ["MEMORY.md", "memory/2026-06-19.md", "daily/2026-06-18/tea.md", "digest/wiki/tea.md"]
    async with open_copaw() as copaw:
        for path in ("AGENTS.md", "SOUL.md", "notes/tea.md", "resource/2026-06-18/tea.md"):
            (copaw.working_path / path).parent.mkdir(parents=True, exist_ok=True)
            (copaw.working_path / path).write_text(told)
        await copaw.record("s", [{"role": "user", "content": told}], distil=False)
        await fill(copaw, dict.fromkeys(places, told))
        await copaw._memory.reindex()
        found = rows(await copaw.memory_search("tea degrees", max_results=50, min_score=0.001))
        paths = {Path(row["path"]).relative_to(copaw.working_path).as_posix() for row in found}
        assert paths == set(places)


class Fake:
    """An embedding port that notes what it is asked."""

    space_id = "fake"

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self.fails_at = 0

    async def embed(self, inputs: Any) -> list[list[float]]:
        self.asked.append(list(inputs))
        if len(self.asked) == self.fails_at:
            raise ModelFailed("m", "down", "Later.")
        return [[float(len(text)), 1.0] for text in inputs]


async def test_texts_are_cut_asked_in_batches_and_remembered() -> None:
    port = Fake()
    limited = LimitedEmbeddings(port, batch=2, longest=3, remembered=3)
    vectors = await limited.embed(["aaaaaa", "b", "cc", "b"])
    assert vectors == [[3.0, 1.0], [1.0, 1.0], [2.0, 1.0], [1.0, 1.0]]
    assert port.asked == [["aaa", "b"], ["cc"]]
    await limited.embed(["b", "dd"])
    await limited.embed(["aaa"])
    assert port.asked[2:] == [["dd"], ["aaa"]]


async def test_what_was_answered_before_a_failure_is_not_asked_again() -> None:
    port = Fake()
    port.fails_at = 2
    limited = LimitedEmbeddings(port, batch=1, longest=9, remembered=9)
    with pytest.raises(ModelFailed):
        await limited.embed(["a", "b"])
    await limited.embed(["a", "b"])
    assert port.asked == [["a"], ["b"], ["b"]]


async def test_nothing_is_remembered_when_the_cache_is_off() -> None:
    port = Fake()
    limited = LimitedEmbeddings(port, batch=1, longest=9, remembered=0)
    assert await limited.embed(["a"]) == await limited.embed(["a"])
    assert port.asked == [["a"], ["a"]]


async def test_it_is_the_memory_of_reme(open_copaw: Open, tmp_path: Path, clock: FakeClock) -> None:
    """The same files, index and journal: what one writes the other finds."""
    async with open_copaw() as copaw:
        await fill(copaw, {"MEMORY.md": "# Memory\n\nHerons nest in May."})
        async with ReMe(tmp_path / "work", settings=QUIET, clock=clock) as reme:
            assert (await reme.search("heron")).hits[0].path == "MEMORY.md"
            assert (await reme.history()).changes
            await reme.write("digest/wiki/owls.md", "Owls hunt at night.")
        assert rows(await copaw.memory_search("owls"))[0]["path"].endswith("digest/wiki/owls.md")


async def test_no_search_finds_the_own_files_of_the_host(open_copaw: Open) -> None:
    async with open_copaw() as copaw:
        await fill(
            copaw,
            {
                "AGENTS.md": "# You are a heron",
                "HEARTBEAT.md": "Every morning: feed the heron.",
                "MEMORY.md": "# Facts\n\nThe heron nests in May.\n",
                "memory/2026-06-19.md": "The heron came back.",
            },
        )
        turn = [{"role": "user", "name": "u", "content": "Where is the heron?"}]
        await copaw.record("s", turn, distil=False)
        wanted = {"MEMORY.md", "memory/2026-06-19.md", "session/dialog/s.jsonl"}
        found = await copaw.search("heron", limit=20)
        assert {hit.path for hit in found.hits} == wanted
        pack = await copaw.recall("heron")
        assert {hit.path for hit in pack.hits} == wanted
        assert "HEARTBEAT" not in pack.answer
