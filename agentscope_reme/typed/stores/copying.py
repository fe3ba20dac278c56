"""Moving every memory from one store to another, or to a file and back.

The file is JSON lines: a header, then a node a line, with its vectors when they are wanted. A
vector is Base64 of little-endian float32, which is exact and half as long as decimal numbers.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, TextIO

import numpy as np
from pydantic import ValidationError

from agentscope_reme.errors import BadInput
from agentscope_reme.store.vectors import Floats
from agentscope_reme.typed.nodes import MemoryNode
from agentscope_reme.typed.stores.base import BaseVectorStore

FORMAT: Final = "agentscope-reme typed memories"
VERSION: Final = 1
_AT_ONCE: Final = 500

VectorsBySpace = dict[str, Floats]


def copy_store(source: BaseVectorStore, target: BaseVectorStore) -> int:
    """Put every node and vector of one open store into another; what is there stays.

    Copying again after an interruption is harmless.

    Returns:
        How many nodes were copied.

    Raises:
        BadInput: the target has vectors of another width in a space of that name.
        StorageFailed: either store refused.
    """
    copied = 0
    for nodes in source.pages():
        _put(target, nodes, _vectors_of(source, nodes))
        copied += len(nodes)
    return copied


def dump(store: BaseVectorStore, file: TextIO, *, with_vectors: bool = True) -> int:
    """Write every node of an open store as a line of JSON.

    Args:
        store: what is written.
        file: open for text.
        with_vectors: without, they are made again after `load`.

    Returns:
        How many nodes were written.
    """
    file.write(_line({"format": FORMAT, "version": VERSION}))
    written = 0
    for nodes in store.pages():
        vectors = _vectors_of(store, nodes) if with_vectors else {}
        for node in nodes:
            mine = {
                space: _packed(found) for space, found in vectors.get(node.memory_id, {}).items()
            }
            file.write(_line({"node": node.model_dump(mode="json"), "vectors": mine}))
        written += len(nodes)
    return written


def load(store: BaseVectorStore, file: TextIO) -> int:
    """Put every node `dump` wrote into an open store; what else is there stays.

    Returns:
        How many nodes were read.

    Raises:
        BadInput: a line is not one `dump` writes; those before it are stored.
    """
    lines = enumerate(file, start=1)
    _check_header(next(lines, (1, "")))
    loaded = 0
    batch: dict[str, tuple[MemoryNode, VectorsBySpace]] = {}
    for number, line in lines:
        node, vectors = _parsed(number, line)
        batch[node.memory_id] = node, vectors
        loaded += 1
        if len(batch) == _AT_ONCE:
            _put_batch(store, batch)
    _put_batch(store, batch)
    return loaded


def _vectors_of(store: BaseVectorStore, nodes: Sequence[MemoryNode]) -> dict[str, VectorsBySpace]:
    """The vectors of nodes, by id and space."""
    found: dict[str, VectorsBySpace] = {}
    for space_id in store.spaces():
        ids = [node.memory_id for node in nodes]
        for memory_id, vector in store.vectors(space_id, ids).items():
            found.setdefault(memory_id, {})[space_id] = vector
    return found


def _put(
    store: BaseVectorStore, nodes: Sequence[MemoryNode], vectors: Mapping[str, VectorsBySpace]
) -> None:
    spaces = sorted({space for mine in vectors.values() for space in mine})
    for space_id in spaces[:1] or [""]:
        store.put(nodes, space_id=space_id, vectors=_in_space(vectors, space_id))
    texts = {node.memory_id: node.embedded_text for node in nodes}
    for space_id in spaces[1:]:
        here = _in_space(vectors, space_id)
        store.put_vectors(space_id, {key: (texts[key], vector) for key, vector in here.items()})


def _put_batch(store: BaseVectorStore, batch: dict[str, tuple[MemoryNode, VectorsBySpace]]) -> None:
    nodes = [node for node, _ in batch.values()]
    _put(store, nodes, {key: vectors for key, (_, vectors) in batch.items()})
    batch.clear()


def _in_space(vectors: Mapping[str, VectorsBySpace], space_id: str) -> dict[str, Floats]:
    return {key: mine[space_id] for key, mine in vectors.items() if space_id in mine}


def _line(row: Mapping[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n"


def _packed(vector: Floats) -> str:
    return base64.b64encode(vector.astype("<f4").tobytes()).decode("ascii")


def _check_header(numbered: tuple[int, str]) -> None:
    number, line = numbered
    if _row(number, line) != {"format": FORMAT, "version": VERSION}:
        raise BadInput(line, "this is no dump of typed memories", "Pass a file `dump` wrote.")


def _parsed(number: int, line: str) -> tuple[MemoryNode, VectorsBySpace]:
    row = _row(number, line)
    try:
        node = MemoryNode.model_validate(row.get("node"))
        packed = dict(row.get("vectors", {}))
        vectors: VectorsBySpace = {
            space: np.frombuffer(base64.b64decode(text, validate=True), "<f4").astype(np.float32)
            for space, text in packed.items()
        }
    except (ValidationError, ValueError, TypeError) as error:
        raise _bad_line(number, line, str(error)) from error
    return node, vectors


def _row(number: int, line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise _bad_line(number, line, str(error)) from error
    if not isinstance(row, dict):
        raise _bad_line(number, line, "it is no object")
    return row


def _bad_line(number: int, line: str, reason: str) -> BadInput:
    return BadInput(line, f"line {number} of the dump: {reason}", "Pass a file `dump` wrote.")
