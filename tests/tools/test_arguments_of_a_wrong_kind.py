"""An argument of a wrong kind is refused by its name, before anything is changed."""

from __future__ import annotations

from typing import Any

import pytest

from agentscope_reme.errors import BadInput
from tests.tools.conftest import Desk

NOTE = "digest/wiki/a.md"


@pytest.mark.parametrize(
    ("call", "arguments", "named"),
    [
        ("write", {"path": NOTE, "content": 5}, "content"),
        ("write", {"path": NOTE, "content": "c", "name": 5}, "name"),
        ("write", {"path": NOTE, "content": "c", "description": ["d"]}, "description"),
        ("write", {"path": NOTE, "content": "c", "metadata": 7}, "metadata"),
        ("write", {"path": NOTE, "content": "c", "metadata": ["tags"]}, "metadata"),
        ("write", {"path": NOTE, "content": "c", "expected_hash": 5}, "expected_hash"),
        ("write", {"path": None, "content": "c"}, "path"),
        ("edit", {"path": NOTE, "old": 5, "new": "x"}, "old"),
        ("edit", {"path": NOTE, "old": "text", "new": None}, "new"),
        ("read", {"path": NOTE, "start_line": "1"}, "start_line"),
        ("read", {"path": 5}, "path"),
        ("delete", {"path": ["a"]}, "path"),
        ("move", {"src": NOTE, "dst": 5}, "path"),
        ("list", {"path": 5}, "path"),
        ("list", {"limit": "many"}, "limit"),
        ("frontmatter_update", {"path": NOTE, "metadata": 7}, "metadata"),
        ("frontmatter_update", {"path": NOTE, "metadata": "tags"}, "metadata"),
        ("frontmatter_update", {"path": NOTE, "metadata": {5: "x"}}, "key"),
        ("frontmatter_delete", {"path": NOTE, "keys": "tags"}, "keys"),
        ("frontmatter_delete", {"path": NOTE, "keys": 5}, "keys"),
        ("frontmatter_delete", {"path": NOTE, "keys": [5]}, "keys"),
        ("frontmatter_delete", {"path": NOTE, "keys": {"tags": 1}}, "keys"),
        ("daily_write", {"name": 5, "description": "d", "content": "c"}, "name"),
        ("daily_write", {"name": "n", "description": 5, "content": "c"}, "description"),
        ("daily_write", {"name": "n", "description": "d", "content": None}, "content"),
        (
            "daily_write",
            {"name": "n", "description": "d", "content": "c", "session_id": 5},
            "session_id",
        ),
        ("daily_write", {"name": "n", "description": "d", "content": "c", "date": 5}, "date"),
        ("daily_write", {"name": "n", "description": "d", "content": "c", "date": 0}, "date"),
        (
            "daily_write",
            {"name": "n", "description": "d", "content": "c", "metadata": 7},
            "metadata",
        ),
        ("daily_list", {"date": 20260620}, "date"),
        ("daily_list", {"date": ["2026-06-20"]}, "date"),
        ("daily_reindex", {"date": False}, "date"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_it_is_refused_and_named(
    desk: Desk, call: str, arguments: dict[str, Any], named: str
) -> None:
    desk.put(NOTE, "---\ntags: [a]\n---\ntext\n")
    before = {path: desk.view.read(path) for path in desk.view.paths()}
    with pytest.raises(BadInput, match=named):
        getattr(desk.operations(), call)(**arguments)
    assert {path: desk.view.read(path) for path in desk.view.paths()} == before


@pytest.mark.parametrize("keys", [("tags",), {"tags"}, ["tags"]])
def test_any_collection_of_texts_is_a_list(desk: Desk, keys: Any) -> None:
    desk.put(NOTE, "---\ntags: [a]\n---\ntext\n")
    assert desk.operations().frontmatter_delete(NOTE, keys).frontmatter == {}
