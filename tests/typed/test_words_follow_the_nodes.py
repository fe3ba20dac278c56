"""What is kept of words between two questions gives the answers reading everything would give."""

from __future__ import annotations

import random

import pytest

from agentscope_reme.typed.nodes import MemoryNode, MemoryType, NodeFilter
from agentscope_reme.typed.words import WordSearch

WORDS = [f"word{n}" for n in range(40)]


def nodes_of(random_: random.Random, target: str, count: int) -> dict[str, MemoryNode]:
    return {f"{target}{n}": node_of(random_, target, f"{target}{n}") for n in range(count)}


def node_of(random_: random.Random, target: str, memory_id: str) -> MemoryNode:
    return MemoryNode(
        memory_id=memory_id,
        memory_type=MemoryType.PERSONAL,
        memory_target=target,
        when_to_use=random_.choice(WORDS) if random_.random() < 0.3 else "",
        content=" ".join(random_.choices(WORDS, k=random_.randint(1, 9))),
    )


@pytest.mark.parametrize("seed", range(3))
def test_any_changes_between_questions(seed: int) -> None:
    random_ = random.Random(seed)
    kept = WordSearch()
    targets = {name: nodes_of(random_, name, 600) for name in ("alice", "bob")}
    for step in range(12):
        name = random_.choice(["alice", "bob"])
        nodes = targets[name]
        for memory_id in random_.sample(sorted(nodes), 60 if step % 4 else 560):
            del nodes[memory_id]
        for memory_id in random_.sample(sorted(nodes), 30):
            nodes[memory_id] = node_of(random_, name, memory_id)
        nodes |= nodes_of(random_, name, 700)
        where = NodeFilter(frozenset({MemoryType.PERSONAL}), frozenset({name}))
        listed = list(nodes.values())
        queries = random_.sample(WORDS, 3)
        found = kept.best(queries, listed, where, 25)
        assert found == WordSearch().best(queries, listed, where, 25)
        assert {one.node.memory_target for one in found} == {name}


def test_a_part_of_the_nodes_is_answered_from_that_part() -> None:
    random_ = random.Random(4)
    nodes = list(nodes_of(random_, "alice", 600).values())
    kept, whole = WordSearch(), NodeFilter(targets=frozenset({"alice"}))
    before = kept.best(WORDS[:3], nodes, whole, 600)
    part = NodeFilter(targets=frozenset({"alice"}), between={"message_time": ("a", "b")})
    found = kept.best(WORDS[:3], nodes[:550], part, 600)
    assert {one.node.memory_id for one in found} <= {node.memory_id for node in nodes[:550]}
    assert kept.best(WORDS[:3], nodes, whole, 600) == before
