"""Emoji, lone characters, names with signs, exact identifiers and dates are found."""

from __future__ import annotations

import json
import random

import pytest

from agentscope_reme.errors import BadInput
from agentscope_reme.store.bm25 import BM25Index
from agentscope_reme.store.keyword_query import dates_in
from agentscope_reme.store.local_store import LocalFileStore
from agentscope_reme.store.records import SearchFilter
from tests.store.builders import indexed, rare

TEXTS = {
    "emoji": "party 🎉 rocket 🚀 time",
    "family": "family 👨‍👩‍👧 trip",
    "flag": "a flag 🇨🇳 and 👍🏽",
    "c": "We use C language",
    "cpp": "We use C++ and C# and F# and .NET",
    "zh": "今天讨论了向量数据库的选型",
    "ja": "今日は成語しりとりをした",
    "ko": "어제 끝말잇기게임을 했다",
    "th": "ฉันชอบกินข้าวผัดกุ้งมาก",
    "code": "for counter++ do",
}


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("🚀", "emoji"),
        ("🎉", "emoji"),
        ("👨‍👩‍👧", "family"),
        ("🇨🇳", "flag"),
        ("👍", "flag"),
        ("👍🏿", "flag"),
        ("C", "c"),
        ("C++", "cpp"),
        ("c#", "cpp"),
        ("What about C++?", "cpp"),
        ("F#.", "cpp"),
        ("counter", "code"),
        ("counter++", "code"),
        ("库", "zh"),
        ("向", "zh"),
        ("型", "zh"),
        ("り", "ja"),
        ("임", "ko"),
        ("ก", "th"),
    ],
)
def test_found_first(local_store: LocalFileStore, query: str, wanted: str) -> None:
    local_store.apply([indexed(f"{name}.md", text) for name, text in TEXTS.items()])
    index = BM25Index()
    index.add_docs(TEXTS)
    for _ in range(2):
        assert local_store.keyword_search(query, limit=1)[0].path == f"{wanted}.md"
        assert index.retrieve(query, 1)[0][0] == wanted
        local_store.optimize()
        index.optimize_index()


def test_signs_belong_to_names_only(local_store: LocalFileStore) -> None:
    local_store.apply([indexed("a.md", "a+b c+++ issue#5 path#anchor x#1 ## heading#")])
    for query in ("issue", "path", "heading", "anchor"):
        assert local_store.keyword_search(query, limit=1)


def test_a_lone_character_is_counted_by_how_often_it_stands_there() -> None:
    index = BM25Index()
    index.add_docs({"one": "数据库", "three": "库存 入库 数据库", "none": "数据存入"})
    assert [doc for doc, _score in index.retrieve("库", 5)] == ["three", "one"]
    assert index.retrieve("库 存入", 5)[0][0] == "none"


def test_two_hundred_exact_identifiers_come_first(local_store: LocalFileStore) -> None:
    chance = random.Random(7)
    kinds = ["foreign{}edit", "get{}Value", "reply_{}_late", "E{}X", "node-{}-v2", "1.{}.7"]
    cases = [kinds[n % len(kinds)].format(n // len(kinds) * 2 + 3) for n in range(200)]
    files = []
    for number, name in enumerate(cases):
        near = kinds[number % len(kinds)].format(number // len(kinds) * 2 + 4)
        filler = " ".join(chance.choices(["alpha", "bravo", "delta", "golf"], k=30))
        files.append(indexed(f"digest/a/{number}.md", f"{filler} {name} {filler}"))
        crowd = "\n\n".join(f"## {near}\n\n{near} {near} foreign edit {near}" for _ in range(6))
        files.append(indexed(f"digest/b/{number}.md", crowd))
    local_store.apply(files)
    for number, name in enumerate(cases):
        for query in (name, f"where is {name}"):
            assert local_store.keyword_search(query, limit=1)[0].path == f"digest/a/{number}.md"


@pytest.mark.parametrize(
    "query",
    [
        "2023-03-13",
        "what happened on 2023-03-13?",
        "2023年3月13日",
        "2023/3/13",
        "13 March 2023",
        "March 13th, 2023",
        "13 Mar 2023",
    ],
)
@pytest.mark.parametrize("words", ["the zebra came", "斑马来了"])
def test_a_day_is_found_however_it_is_written(
    local_store: LocalFileStore, query: str, words: str
) -> None:
    days = [f"2023-{month:02}-{day:02}" for month in (2, 3, 4) for day in (3, 12, 13, 14)]
    for number, day in enumerate([*days, "2022-03-13", "2024-03-13"]):
        row = {
            "id": "1",
            "role": "user",
            "created_at": f"{day}T08:20:00",
            "blocks": [{"type": "text", "text": words}],
        }
        local_store.apply(
            [
                indexed(
                    f"session/dialog/{rare(number)}.jsonl",
                    json.dumps(row, ensure_ascii=False) + "\n",
                )
            ]
        )
    hit = local_store.keyword_search(query, limit=1)[0]
    assert "13 March 2023" in hit.text


def test_days_that_do_not_exist_are_none() -> None:
    assert dates_in("2023-02-30 99 March 2023 12023-01-01 1.2.3") == []


def test_a_file_says_its_date_in_front_matter(local_store: LocalFileStore) -> None:
    for name, front in (
        ("old", "date: 2020-01-01"),
        ("new", 'date: "2026-05-05T10:00:00"'),
        ("odd", "date: tomorrow"),
        ("none", "name: x"),
    ):
        local_store.apply([indexed(f"digest/{name}.md", f"---\n{front}\n---\nzebra\n")])
    local_store.apply([indexed("daily/2026-05-06/a.md", "---\ndate: 2020-01-01\n---\nzebra\n")])

    def found(**dates: str) -> list[str]:
        hits = local_store.keyword_search("zebra", limit=9, where=SearchFilter(**dates))  # type: ignore[arg-type]
        return sorted(hit.path.rsplit("/")[-1].removesuffix(".md") for hit in hits)

    assert found(start_date="2026-01-01") == ["a", "new", "none", "odd"]
    assert found(end_date="2020-01-01") == ["none", "odd", "old"]
    assert found(start_date="2026-05-05", end_date="2026-05-05") == ["new", "none", "odd"]
    local_store.apply([indexed("digest/old.md", "---\ndate: 2026-05-05\n---\nzebra\n")])
    assert found(start_date="2026-05-05", end_date="2026-05-05") == ["new", "none", "odd", "old"]
    dates = {hit.path: hit.date for hit in local_store.keyword_search("zebra", limit=9)}
    assert dates["digest/new.md"] == "2026-05-05"
    assert dates["digest/odd.md"] is None
    assert dates["daily/2026-05-06/a.md"] == "2026-05-06"


def test_a_span_that_ends_before_it_begins_is_refused(local_store: LocalFileStore) -> None:
    where = SearchFilter(start_date="2026-02-01", end_date="2026-01-01")
    with pytest.raises(BadInput, match="after 2026-01-01"):
        local_store.keyword_search("zebra", limit=1, where=where)
