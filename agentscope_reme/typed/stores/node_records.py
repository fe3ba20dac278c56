"""Nodes as records of an engine, and what becomes of their vectors when they change."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from agentscope_reme.store.vectors import Floats
from agentscope_reme.typed.nodes import MemoryNode
from agentscope_reme.typed.stores.attributes import (
    Attributes,
    attributes_of,
    is_presence,
    short_hash,
)
from agentscope_reme.typed.stores.engine import Record


def key_of(memory_id: str) -> str:
    """The key of a node: ids may have any length and signs, keys may not."""
    return hashlib.sha256(memory_id.encode(errors="surrogatepass")).hexdigest()[:32]


def node_of(record: Record) -> MemoryNode:
    """The node a record holds."""
    return MemoryNode.model_validate_json(record.body)


def fingerprint(node: MemoryNode) -> str:
    """Tells whether a vector was made of what a node says."""
    return short_hash(node.embedded_text)


def vector_record(node: MemoryNode, vector: Floats) -> Record:
    """The vector of a node, with what it is filtered by."""
    return Record(key_of(node.memory_id), fingerprint(node), attributes_of(node), vector)


@dataclass(slots=True, eq=False)
class NodeChange:
    """A node that takes the place of what is stored under its id.

    Attributes:
        node: what is to be stored.
        old: the record that is there.
        vector: given along, for one space.
        present: flags of the spaces in which it has a vector in the end.
    """

    node: MemoryNode
    old: Record | None
    vector: Floats | None = None
    present: set[str] = field(default_factory=set)

    @property
    def key(self) -> str:
        """The key of both."""
        return key_of(self.node.memory_id)

    @property
    def record(self) -> Record:
        """What is stored in the end."""
        flags: Attributes = dict.fromkeys(sorted(self.present), True)
        body = self.node.model_dump_json()
        return Record(self.key, body, {**attributes_of(self.node), **flags})

    @property
    def keeps_text(self) -> bool:
        """Whether vectors of the old one are those of the new one."""
        return self.old is not None and fingerprint(node_of(self.old)) == fingerprint(self.node)

    @property
    def keeps_attributes(self) -> bool:
        """Whether both are found by the same filters."""
        old = {} if self.old is None else self.old.attributes
        return attributes_of(self.node) == {k: v for k, v in old.items() if not is_presence(k)}

    def held(self, flag: str) -> bool:
        """Whether the old one had a vector in a space."""
        return self.old is not None and self.old.attributes.get(flag) is True
