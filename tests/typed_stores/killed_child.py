"""A process that writes memories until it is killed, and says which ones were acknowledged."""

from __future__ import annotations

import itertools
import random
import sys
from pathlib import Path

from agentscope_reme.typed.nodes import MemoryNode, MemoryType
from agentscope_reme.typed.stores.local import LocalVectorStore

SPACE = "model/16"
WIDTH = 16


def batch(number: int, size: int = 5) -> list[MemoryNode]:
    """Nodes that only make sense together: all say which version they are of."""
    return [
        MemoryNode(
            memory_id=f"m{place}",
            memory_type=MemoryType.PERSONAL,
            memory_target="alice",
            content=f"version {number}",
        )
        for place in range(size)
    ]


def only_once(number: int) -> MemoryNode:
    return MemoryNode(
        memory_id=f"new{number}",
        memory_type=MemoryType.TOOL,
        memory_target="search",
        content="deleted three versions later",
    )


def vector(number: int, place: int) -> list[float]:
    row = random.Random(number * 1000 + place)
    return [row.uniform(-1, 1) for _ in range(WIDTH)]


def write_for_ever(folder: Path) -> None:
    store = LocalVectorStore(folder)
    store.open()
    for number in itertools.count(1):
        nodes = batch(number)
        vectors = {node.memory_id: vector(number, place) for place, node in enumerate(nodes)}
        store.put(nodes, space_id=SPACE, vectors=vectors)
        store.put([only_once(number)])
        if number > 3:
            store.delete([f"new{number - 3}"])
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    write_for_ever(Path(sys.argv[1]))
