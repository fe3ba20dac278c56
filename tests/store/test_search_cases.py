"""Queries and the document that must come first."""

from __future__ import annotations

import pytest

from agentscope_reme.store.bm25 import BM25Index
from agentscope_reme.store.local_store import LocalFileStore
from tests.store.builders import indexed

CASES = [
    ("C", "We compared C and Rust for the parser.", "The compiler team met on Monday."),
    ("R", "Plotting is done in R with ggplot.", "The report is ready."),
    (
        "数据库选型",
        "今天讨论了向量数据库的选型，最终决定使用 BM25 混合检索。",
        "今天讨论了午饭吃什么。",
    ),
    ("しりとり", "今日は成語しりとりをした", "今日は買い物をした"),
    ("끝말잇기", "어제 끝말잇기게임을 했다", "어제 산책을 했다"),
    ("get user name", "call getUserName() before x86_64 builds", "call the user"),
    ("E1042", "error code E1042 in node-js worker", "error in worker"),
    ("what do I like", "I like concise answers", "The weather is fine"),
    ("to be or not to be", "to be or not to be", "something else"),
    ("𠮷野家", "𠮷野家で昼食", "別の店で昼食"),
    ("naive cafe", "naïve café résumé", "nothing"),
    ("run migration", "running migrations ran twice", "walking"),
]


@pytest.mark.parametrize(("query", "wanted", "other"), CASES, ids=[case[0] for case in CASES])
def test_in_the_index(query: str, wanted: str, other: str) -> None:
    index = BM25Index()
    index.add_docs({"other": other, "wanted": wanted})
    assert index.retrieve(query, 5)[0][0] == "wanted"


def test_in_the_store(local_store: LocalFileStore) -> None:
    for number, (_query, wanted, other) in enumerate(CASES):
        local_store.apply(
            [indexed(f"digest/w/{number}.md", wanted), indexed(f"digest/o/{number}.md", other)]
        )
    for number, (query, _wanted, _other) in enumerate(CASES):
        hits = local_store.keyword_search(query, limit=3)
        assert hits[0].path == f"digest/w/{number}.md", query
