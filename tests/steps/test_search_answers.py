"""What a search shows: where, when, why, and how much was left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentscope_reme import ReMe
from agentscope_reme.errors import BadInput
from agentscope_reme.steps.answers import NOTHING_FOUND, NOTHING_NEW


async def test_a_hit_shows_its_lines_date_name_score_and_links(reme: ReMe) -> None:
    await reme.write("digest/wiki/store.md", "# Store\n\nWe keep vectors in SQLite.\n")
    await reme.write(
        "daily/2026-06-20/choice.md",
        "# Choice\n\nWe chose BM25, see [[digest/wiki/store.md#L3]].\n",
        name="choice",
    )
    found = await reme.search("BM25")
    assert found.counts.keyword == 1
    assert found.counts.returned == 1
    hit = found.hits[0]
    assert (hit.path, hit.date, hit.name) == ("daily/2026-06-20/choice.md", "2026-06-20", "choice")
    lines = (await reme.read(hit.path)).content.splitlines()
    assert "\n".join(lines[hit.start_line - 1 : hit.end_line]) == hit.text
    head = f"========== {hit.path}:{hit.start_line}-{hit.end_line} [score={hit.score:.4f}] "
    assert found.answer.startswith(head + "2026-06-20 choice ==========")
    assert "  outlinks (1):\n    → digest/wiki/store.md (#L3)" in found.answer


async def test_nothing_found_says_so_in_words(reme: ReMe) -> None:
    await reme.write("digest/wiki/a.md", "apple")
    found = await reme.search("zebra")
    assert found.hits == []
    assert found.answer == NOTHING_FOUND


@pytest.mark.parametrize(("language", "said"), [("en", "is empty"), ("zh", "是空的")])
async def test_an_empty_memory_says_so(tmp_path: Path, language: str, said: str) -> None:
    async with ReMe(tmp_path / "typo", language=language) as reme:
        found = await reme.search("zebra")
        assert said in found.answer
        assert str(tmp_path) not in found.answer  # a model reads it
        assert (await reme.recall("zebra")).answer == ""
        (tool,) = reme.tools(include=["memory_search"])
        told = (await tool.call({"query": "zebra"})).text
        assert said in told
        await reme.write("digest/wiki/a.md", "zebra")
        assert said not in (await reme.search("zebra")).answer


async def test_within_a_tool_context_a_passage_is_shown_once(reme: ReMe) -> None:
    await reme.write("digest/wiki/a.md", "apple pie recipe")
    await reme.write("digest/wiki/b.md", "apple tree care, a long note about apple trees")
    first = await reme.search("apple", limit=1, tool_context_id="t")
    second = await reme.search("apple", limit=1, tool_context_id="t")
    third = await reme.search("apple", limit=1, tool_context_id="t")
    assert first.hits[0].path != second.hits[0].path
    assert third.hits == []
    assert third.answer == NOTHING_NEW
    assert (await reme.search("apple", tool_context_id="other")).counts.returned == 2


async def test_what_was_shown_is_forgotten_after_a_day(reme: ReMe) -> None:
    await reme.write("digest/wiki/a.md", "apple pie recipe")
    await reme.search("apple", tool_context_id="t")
    reme.clock.advance(hours=25)  # type: ignore[attr-defined]  # a FakeClock
    assert (await reme.search("apple", tool_context_id="t")).counts.returned == 1


async def test_filters_narrow_by_date_prefix_tags_and_front_matter(reme: ReMe) -> None:
    await reme.write("daily/2026-06-18/a.md", "tea", metadata={"memory_tags": ["Drinks"]})
    await reme.write("daily/2026-06-20/b.md", "tea", metadata={"kind": "fact"})
    await reme.write("digest/wiki/c.md", "tea")

    async def paths(**filters: object) -> list[str]:
        found = await reme.search("tea", **filters)  # type: ignore[arg-type]
        return sorted(hit.path for hit in found.hits)

    assert await paths(start_date="2026-06-19") == ["daily/2026-06-20/b.md", "digest/wiki/c.md"]
    assert await paths(path_prefix="daily/", end_date="2026-06-18") == ["daily/2026-06-18/a.md"]
    assert await paths(tags=["drinks"]) == ["daily/2026-06-18/a.md"]
    assert await paths(filters={"kind": "fact"}) == ["daily/2026-06-20/b.md"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"query": "  "}, "`query` is empty"),
        ({"query": "x", "limit": 0}, "`limit`"),
        ({"query": "x", "start_date": "last week"}, "`start_date`"),
        (
            {"query": "x", "start_date": "2026-02-01", "end_date": "2026-01-01"},
            "`end_date`: .*before",
        ),
        ({"query": "x", "vector_weight": 2}, "`vector_weight`"),
        ({"query": "x", "min_score": float("nan")}, "`min_score`"),
        ({"query": "x", "fusion": "magic"}, "`fusion`"),
    ],
)
async def test_a_bad_argument_is_refused_by_name(
    reme: ReMe, arguments: dict[str, object], said: str
) -> None:
    with pytest.raises(BadInput, match=said):
        await reme.search(**arguments)  # type: ignore[arg-type]


async def test_distilled_layers_come_first_and_said_lines_follow(reme: ReMe) -> None:
    await reme.record("s", [{"role": "user", "content": "The codeword is heron."}], distil=False)
    await reme.write("digest/wiki/birds.md", "A heron is a bird.")
    paths = [hit.path for hit in (await reme.search("heron")).hits]
    assert paths == ["digest/wiki/birds.md", "session/dialog/s.jsonl"]


async def test_an_answer_stays_within_its_cap_and_says_so(reme: ReMe) -> None:
    for number in range(60):
        body = " ".join(f"falcon{i}" for i in range(80))
        await reme.write(f"digest/wiki/n{number}.md", f"falcon {number} {body}")
    found = await reme.search("falcon", limit=60)
    assert found.truncated
    assert len(found.answer.encode()) <= reme.settings.tool_answer_bytes
    assert "more hit(s) left out" in found.answer


async def test_a_hit_shows_the_front_matter_its_file_has_now(reme: ReMe) -> None:
    for name in ("choice", "decision"):
        await reme.write("daily/2026-06-20/choice.md", "We chose BM25.", name=name)
        [hit] = (await reme.search("BM25")).hits
        assert hit.name == name
    place = reme.workspace.root / "daily/2026-06-20/choice.md"
    place.write_bytes(place.read_bytes().replace(b"decision", b"by hand"))
    await reme.reindex("daily")
    [hit] = (await reme.search("BM25")).hits
    assert hit.name == "by hand"
