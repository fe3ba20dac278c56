"""What is kept of words between two questions gives the answers reading everything would give."""

from __future__ import annotations

import random

import pytest

from agentscope_reme.typed.nodes import MemoryType, NodeFilter
from agentscope_reme.typed.words import WordSearch

WORDS = [f"word{n}" for n in range(40)]


def texts_of(random_: random.Random, target: str, count: int) -> dict[str, str]:
    return {f"{target}{n}": text(random_) for n in range(count)}


def text(random_: random.Random) -> str:
    return " ".join(random_.choices(WORDS, k=random_.randint(1, 9)))


@pytest.mark.parametrize("seed", range(3))
def test_any_changes_between_questions(seed: int) -> None:
    random_ = random.Random(seed)
    kept = WordSearch()
    targets = {name: texts_of(random_, name, 600) for name in ("alice", "bob")}
    for step in range(12):
        name = random_.choice(["alice", "bob"])
        texts = targets[name]
        for memory_id in random_.sample(sorted(texts), 60 if step % 4 else 560):
            del texts[memory_id]
        for memory_id in random_.sample(sorted(texts), 30):
            texts[memory_id] = text(random_)
        texts |= texts_of(random_, name, 700)
        where = NodeFilter(frozenset({MemoryType.PERSONAL}), frozenset({name}))
        queries = random_.sample(WORDS, 3)
        found = kept.best(queries, texts, where, 25)
        assert found == WordSearch().best(queries, texts, where, 25)
        assert all(memory_id.startswith(name) for memory_id in found)


def test_a_part_of_the_nodes_is_answered_from_that_part() -> None:
    random_ = random.Random(4)
    texts = texts_of(random_, "alice", 600)
    kept, whole = WordSearch(), NodeFilter(targets=frozenset({"alice"}))
    before = kept.best(WORDS[:3], texts, whole, 600)
    part = NodeFilter(targets=frozenset({"alice"}), between={"message_time": ("a", "b")})
    some = dict(list(texts.items())[:550])
    assert set(kept.best(WORDS[:3], some, part, 600)) <= set(some)
    assert kept.best(WORDS[:3], texts, whole, 600) == before
