"""What every store asks of nodes and vectors before it writes anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agentscope_reme.errors import BadInput, Closed
from agentscope_reme.store.vectors import Floats, Vector, normalised
from agentscope_reme.typed.nodes import MemoryNode
from agentscope_reme.typed.stores.conditions import check_node, check_text


def not_open(name: str) -> Closed:
    """The refusal of a store that was closed, or never opened."""
    return Closed(name, "the store is not open", "`start()` the memory, or `open()` the store.")


def checked_puts(
    nodes: Sequence[MemoryNode], space_id: str, vectors: Mapping[str, Vector] | None
) -> tuple[dict[str, MemoryNode], dict[str, Floats]]:
    """Nodes by id, the last of equal ones, and their normalised vectors.

    Raises:
        BadInput: a number is not finite, a vector has no node, or they differ in width.
    """
    wanted = {node.memory_id: node for node in nodes}
    for node in wanted.values():
        check_node(node)
    if strangers := set(vectors or ()) - set(wanted):
        raise BadInput(min(strangers), "no such node is put", "Use `put_vectors` for stored ones.")
    return wanted, checked_vectors(space_id, vectors or {})


def checked_vectors(space_id: str, vectors: Mapping[str, Vector]) -> dict[str, Floats]:
    """Normalised vectors of one width.

    Raises:
        BadInput: the space has no name, or a vector is no direction or of another width.
    """
    ready: dict[str, Floats] = {}
    width = None
    if vectors:
        check_space(space_id)
    for memory_id, vector in vectors.items():
        ready[memory_id] = array = normalised(vector, width)
        width = len(array)
    return ready


def check_space(space_id: str) -> None:
    """Refuse what cannot name a space.

    Raises:
        BadInput: it is empty, or no valid Unicode.
    """
    if not check_text(space_id):
        raise BadInput(space_id, "a space has a name", "Pass `space_id`, such as model and width.")


def check_widths(space_id: str, ready: Mapping[str, Floats], known: int | None) -> None:
    """Refuse vectors that cannot be compared with those that are there.

    Args:
        space_id: the space.
        ready: vectors of one width.
        known: the width of those that are there; ``None`` when there are none.

    Raises:
        BadInput: the widths differ.
    """
    for vector in ready.values():
        matching_vector(vector, space_id, known)
        return


def matching_vector(vector: Vector, space_id: str, known: int | None) -> Floats:
    """A normalised vector that can be compared with those of a space.

    Args:
        vector: what is searched for.
        space_id: the space.
        known: the width of those that are there; ``None`` when there are none.

    Raises:
        BadInput: it has another width, or no direction.
    """
    array = normalised(vector)
    if known not in (None, len(array)):
        raise BadInput(
            len(array),
            f"the vectors of {space_id!r} have {known} numbers",
            "Give the vectors of another model a space of their own.",
        )
    return array
