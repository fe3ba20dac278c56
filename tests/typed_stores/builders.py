"""Nodes and vectors for the tests."""

from __future__ import annotations

from agentscope_reme.typed.nodes import MemoryNode, MemoryType, NodeFilter, Scalar

EVERYTHING = NodeFilter()


def node(memory_id: str, content: str = "", target: str = "alice", **fields: object) -> MemoryNode:
    """A personal memory, unless `fields` say otherwise."""
    given = {"memory_type": MemoryType.PERSONAL, "memory_target": target, **fields}
    return MemoryNode(memory_id=memory_id, content=content or f"says {memory_id}", **given)  # type: ignore[arg-type]


def of(*targets: str) -> NodeFilter:
    return NodeFilter(targets=frozenset(targets))


def equal(**values: Scalar) -> NodeFilter:
    return NodeFilter(equal=values)


def between(**ranges: tuple[Scalar, Scalar]) -> NodeFilter:
    return NodeFilter(between=ranges)


def ids(nodes: list[MemoryNode]) -> list[str]:
    return [found.memory_id for found in nodes]
