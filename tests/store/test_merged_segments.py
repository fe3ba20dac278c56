"""Segments that were merged say what their documents say, without the deleted ones."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.store.postings import Document, Segment, Tail
from agentscope_reme.store.segment_building import build_segment, merge_segments
from agentscope_reme.store.term_keys import TermCounts

Counts = dict[int, int]

passages = st.tuples(st.dictionaries(st.integers(-9, 9), st.integers(1, 300)), st.booleans())
groups = st.lists(st.lists(passages, min_size=1, max_size=8), min_size=1, max_size=4)


@given(groups, st.integers(1, 40))
def test_a_merge_keeps_every_live_document(
    written: list[list[tuple[Counts, bool]]], slab: int
) -> None:
    segments: list[Segment] = []
    expected: dict[int, Counts] = {}
    slot = 0
    for group in written:
        documents = []
        for counts, _deleted in group:
            terms = TermCounts.of_mapping(counts)
            documents.append(Document.of(slot, slot // 2, terms, terms.total()))
            expected[slot] = {key: min(count, 255) for key, count in counts.items()}
            slot += 3
        tail = Tail()
        tail.add(documents)
        segments.append(build_segment(tail.columns_of(range(len(documents)))))
        gone = [d.slot for d, (_counts, deleted) in zip(documents, group, strict=True) if deleted]
        segments[-1].delete(segments[-1].slots[[s in gone for s in segments[-1].slots.tolist()]])
        for number in gone:
            del expected[number]
    merged = merge_segments(segments, slab=slab)
    assert merged.slots.tolist() == list(expected)
    assert merged.owners.tolist() == [number // 2 for number in expected]
    assert contents(merged) == expected


def contents(segment: Segment) -> dict[int, Counts]:
    """The counts of each document, read from the lists, which must be in order."""
    found: dict[int, Counts] = {slot: {} for slot in segment.slots.tolist()}
    keys = segment.keys.tolist()
    assert keys == sorted(set(keys))
    for key, (docs, counts) in zip(keys, segment.find(segment.keys), strict=True):
        assert docs.tolist() == sorted(set(docs.tolist())) != []
        for slot, count in zip(segment.slots[docs].tolist(), counts.tolist(), strict=True):
            found[slot][key] = count
    return found
