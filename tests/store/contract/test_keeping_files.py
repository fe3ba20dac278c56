"""What every store keeps of files, and how it changes."""

from __future__ import annotations

import pytest

from agentscope_reme.errors import BadInput
from agentscope_reme.schema import text_hash
from agentscope_reme.store.base import BaseFileStore
from agentscope_reme.store.records import FileStamp
from tests.store.builders import card, indexed

LINKED = indexed(
    "daily/2026-06-20/a.md",
    '---\nname: A\nsource: "[[session/dialog/s.jsonl]]"\nwhen: 2026-06-20\nn: {x: [1, true]}\n---\n'
    "See [[digest/wiki/b.md#Part]] and [[digest/wiki/b.md|b]].\n",
)


def test_a_node_and_its_chunks_come_back_as_they_were_given(store: BaseFileStore) -> None:
    broken = indexed("digest/wiki/broken.md", "---\nname: [\n---\ntext\n")
    long = indexed(
        "digest/wiki/long.md",
        "# T\n\n" + "\n\n".join(f"## S{i}\n\n{'word ' * 30}" for i in range(4)),
    )
    store.apply([LINKED, broken, long])
    for file in (LINKED, broken, long):
        assert store.node(file.node.path) == file.node
        assert store.chunks(file.node.path) == list(file.chunks)
    assert store.node("none.md") is None
    assert store.chunks("none.md") == []


def test_nodes_are_sorted_and_picked_by_prefix(store: BaseFileStore) -> None:
    names = ["digest/wiki/b.md", "digest/wiki/a_1.md", "digest/wiki/aX1.md", "daily/d.md"]
    store.apply([indexed(name, "text") for name in names])
    assert [n.path for n in store.nodes()] == sorted(names)
    assert [n.path for n in store.nodes("digest/wiki/a_")] == ["digest/wiki/a_1.md"]


def test_stamps_say_time_size_and_hash(store: BaseFileStore) -> None:
    file = indexed("a.md", "text", mtime_ns=1_700_000_000_123_456_789)
    store.apply([file])
    expected = FileStamp(1_700_000_000_123_456_789, 4, file.node.content_hash)
    assert store.stamps() == {"a.md": expected}


def test_an_upsert_replaces_and_a_delete_forgets(store: BaseFileStore) -> None:
    store.apply([indexed("a.md", "apple [[b.md]]"), indexed("c.md", card(tags="t", body="cherry"))])
    store.apply([indexed("a.md", "avocado")], ["c.md", "never-there.md"])
    assert store.keyword_search("apple cherry", limit=5) == []
    assert [h.path for h in store.keyword_search("avocado", limit=5)] == ["a.md"]
    assert store.inlinks("b.md") == []
    assert store.tags() == {}
    assert set(store.stamps()) == {"a.md"}


def test_it_is_empty_until_a_chunk_is_there_and_after_the_last_went(store: BaseFileStore) -> None:
    assert store.is_empty()
    store.apply([indexed("a.md", "apple"), indexed("blank.md", "")])
    assert not store.is_empty()
    store.apply([], ["a.md"])
    assert store.is_empty()


def test_upserting_and_deleting_the_same_path_keeps_the_new_file(store: BaseFileStore) -> None:
    store.apply([indexed("a.md", "old")])
    store.apply([indexed("a.md", "new")], ["a.md"])
    assert [h.text for h in store.keyword_search("new", limit=5)] == ["new"]
    assert store.keyword_search("old", limit=5) == []


def test_the_last_of_two_upserts_of_a_path_counts(store: BaseFileStore) -> None:
    store.apply([indexed("a.md", "first"), indexed("a.md", "second")])
    assert [h.text for h in store.keyword_search("first second", limit=5)] == ["second"]
    assert store.stats().files == 1


def test_links_in_both_directions(store: BaseFileStore) -> None:
    other = indexed("digest/wiki/z.md", "[[digest/wiki/b.md]] [[digest/wiki/z.md]]")
    store.apply([other, LINKED])
    assert store.outlinks(LINKED.node.path) == list(LINKED.node.links)
    assert [k.kind for k in store.outlinks(LINKED.node.path)] == ["source", "body", "body"]
    sources = [k.source_path for k in store.inlinks("digest/wiki/b.md")]
    assert sources == ["daily/2026-06-20/a.md", "daily/2026-06-20/a.md", "digest/wiki/z.md"]
    assert store.inlinks("digest/wiki/z.md") == []
    store.apply([], ["digest/wiki/z.md"])
    assert len(store.inlinks("digest/wiki/b.md")) == 2


def test_tags_are_counted_by_file(store: BaseFileStore) -> None:
    store.apply(
        [indexed("a.md", card(tags="X, y z", body="t")), indexed("b.md", card(tags="x", body="t"))]
    )
    assert store.tags() == {"x": 2, "y_z": 1}


def test_the_same_change_twice_changes_nothing(store: BaseFileStore) -> None:
    store.apply([LINKED])
    before = (store.nodes(), store.chunks(LINKED.node.path), store.stats().chunks)
    store.apply([LINKED])
    assert (store.nodes(), store.chunks(LINKED.node.path), store.stats().chunks) == before


def test_clear_forgets_files_and_keeps_vectors(store: BaseFileStore) -> None:
    store.apply([indexed("a.md", "apple")])
    store.put_vectors("m", {text_hash("apple"): [1.0, 0.0]})
    store.clear()
    assert store.stats().files == 0
    assert store.keyword_search("apple", limit=5) == []
    store.apply([indexed("moved.md", "apple")])
    assert store.missing_vectors("m", 5) == []


def test_a_rename_or_a_new_front_matter_key_needs_no_new_vector(store: BaseFileStore) -> None:
    store.apply([indexed("a.md", card("A", body="apple"))])
    store.put_vectors("m", {key: [1.0, 0.0] for key, _ in store.missing_vectors("m", 5)})
    store.apply([indexed("b.md", card("A", body="apple", tags="fruit"))], ["a.md"])
    assert store.missing_vectors("m", 5) == []
    assert [h.path for h in store.vector_search([1.0, 0.0], limit=5)] == ["b.md"]


def test_equal_texts_need_one_vector_and_both_are_found(store: BaseFileStore) -> None:
    store.apply([indexed("a.md", "apple"), indexed("b.md", "apple")])
    missing = store.missing_vectors("m", 5)
    assert missing == [(text_hash("apple"), "apple")]
    store.put_vectors("m", {missing[0][0]: [1.0, 0.0]})
    assert [h.path for h in store.vector_search([1.0, 0.0], limit=5)] == ["a.md", "b.md"]


def test_a_new_space_is_counted_by_itself(store: BaseFileStore) -> None:
    store.apply([indexed("a.md", "apple"), indexed("b.md", "pear")])
    store.put_vectors("m", {key: [1.0, 0.0] for key, _ in store.missing_vectors("m", 5)})
    assert (store.stats().vectors, store.stats().vectors_pending) == (2, 0)
    assert len(store.missing_vectors("n", 5)) == 2
    store.put_vectors("n", {text_hash("pear"): [1.0, 2.0, 3.0]})
    assert (store.stats().vectors, store.stats().vectors_pending) == (1, 1)
    assert [h.path for h in store.vector_search([1.0, 2.0, 3.0], limit=5)] == ["b.md"]


def test_vectors_of_several_widths_are_refused(store: BaseFileStore) -> None:
    store.apply([indexed("a.md", "apple")])
    key = text_hash("apple")
    with pytest.raises(BadInput):
        store.put_vectors("m", {key: [1.0], text_hash("pear"): [1.0, 2.0]})
    store.put_vectors("m", {key: [1.0, 0.0]})
    with pytest.raises(BadInput):
        store.put_vectors("m", {text_hash("pear"): [1.0]})
    assert store.stats().vectors == 1


def test_stats_count(store: BaseFileStore) -> None:
    store.apply([LINKED, indexed("b.md", card(tags="t", body="x"))])
    stats = store.stats()
    assert (stats.files, stats.chunks, stats.links, stats.tags) == (2, 2, 3, 1)
    assert stats.notices == ()
    store.apply([indexed("c.md", "x")])
    assert store.stats().revision > stats.revision
