"""Links between files, known files, tags and dates."""

from __future__ import annotations

import pytest

from agentscope_reme.errors import BadInput
from agentscope_reme.schema import FileLink
from agentscope_reme.store.catalog import FileCatalog
from agentscope_reme.store.filters import date_of, normalise_tag
from agentscope_reme.store.graph import Direction, FileGraph
from agentscope_reme.store.local_store import LocalFileStore
from agentscope_reme.store.records import FileStamp
from tests.store.builders import indexed


def link(source: str, target: str, anchor: str | None = None) -> FileLink:
    return FileLink(source_path=source, target_path=target, target_anchor=anchor)


def chain() -> FileGraph:
    """a → b → c → a, and b → d."""
    graph = FileGraph()
    graph.upsert("a", [link("a", "b")])
    graph.upsert("b", [link("b", "c"), link("b", "d")])
    graph.upsert("c", [link("c", "a")])
    return graph


@pytest.mark.parametrize(
    ("start", "depth", "direction", "expected"),
    [
        ("a", 0, "both", {"a": 0}),
        ("a", 1, "out", {"a": 0, "b": 1}),
        ("a", 1, "in", {"a": 0, "c": 1}),
        ("a", 1, "both", {"a": 0, "b": 1, "c": 1}),
        ("a", 2, "out", {"a": 0, "b": 1, "c": 2, "d": 2}),
        ("d", 9, "in", {"d": 0, "b": 1, "a": 2, "c": 3}),
        ("unknown", 3, "both", {"unknown": 0}),
    ],
)
def test_traversing(start: str, depth: int, direction: Direction, expected: dict[str, int]) -> None:
    assert chain().traverse(start, depth, direction).depths == expected


def test_each_edge_is_told_once() -> None:
    edges = chain().traverse("a", 9).edges
    assert len(edges) == len(set(edges)) == 4


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(BadInput):
        chain().traverse("a", -1)
    with pytest.raises(BadInput):
        chain().traverse("a", 1, "sideways")  # type: ignore[arg-type]


def test_links_follow_their_file() -> None:
    graph = chain()
    graph.upsert("b", [link("b", "e"), link("b", "e", "x"), link("b", "b")])
    assert [k.target_anchor for k in graph.inlinks("e")] == [None, "x"]
    assert graph.inlinks("c") == graph.inlinks("b")[1:] == []
    graph.remove("b")
    assert graph.outlinks("b") == graph.inlinks("e") == []
    assert [k.source_path for k in graph.inlinks("b")] == ["a"]
    assert len(list(graph.links())) == 2


def test_the_store_traverses_its_links(local_store: LocalFileStore) -> None:
    local_store.apply([indexed("a.md", "[[b.md]]"), indexed("b.md", "[[c.md]]")])
    assert local_store.traverse("a.md", 2, "out").depths == {"a.md": 0, "b.md": 1, "c.md": 2}
    local_store.apply([indexed("b.md", "[[d.md]]")])
    assert local_store.traverse("a.md", 2, "out").depths == {"a.md": 0, "b.md": 1, "d.md": 2}


def test_the_catalog_compares_with_the_disk() -> None:
    catalog = FileCatalog({"same": FileStamp(1, 1, "x"), "gone": FileStamp(1, 1, "x")})
    catalog.put("touched", FileStamp(1, 1, "x"))
    seen = {"same": (1, 1), "touched": (2, 1), "new": (1, 1)}
    difference = catalog.compare(seen)
    assert (difference.added, difference.suspect, difference.missing) == (
        ("new",),
        ("touched",),
        ("gone",),
    )
    assert difference
    catalog.discard("gone")
    catalog.put("touched", FileStamp(2, 1, "x"))
    catalog.put("new", FileStamp(1, 1, "x"))
    assert not catalog.compare(seen)
    assert "gone" not in catalog
    assert len(catalog) == len(catalog.stamps()) == 3
    assert catalog.get("new") == FileStamp(1, 1, "x")


@pytest.mark.parametrize(
    ("path", "day"),
    [
        ("daily/2026-06-20/x.md", "2026-06-20"),
        ("daily/2026-06-20.md", "2026-06-20"),
        ("memory/2026-06-20.md", "2026-06-20"),
        ("resource/2026-06-20/deep/x.csv", "2026-06-20"),
        ("digest/wiki/about-2026-06-20.md", None),
        ("digest/wiki/2026-06-20-plan.md", None),
        ("MEMORY.md", None),
    ],
)
def test_the_day_of_a_path(path: str, day: str | None) -> None:
    assert date_of(path) == day


@pytest.mark.parametrize(
    ("tag", "spelled"),
    [
        ("Big Team", "big_team"),
        ("  a \t b ", "a_b"),
        ("STRASSE ß", "strasse_ss"),
        (7, "7"),
        ("c++", "c++"),
        ("数据库", "数据库"),
        ("", None),
        ("!!", None),
        (True, None),
        (None, None),
        (["x"], None),
        ("x" * 65, None),
    ],
)
def test_the_spelling_of_a_tag(tag: object, spelled: str | None) -> None:
    assert normalise_tag(tag) == spelled
