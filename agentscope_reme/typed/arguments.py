"""What people may pass about single memories: texts, scores, metadata and filters, checked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from agentscope_reme.errors import BadInput
from agentscope_reme.messages import whole_characters
from agentscope_reme.typed.nodes import MemoryType, NodeFilter, Scalar
from agentscope_reme.typed.stores.conditions import FIELDS, is_text
from agentscope_reme.typed.targets import ABOUT, Target
from agentscope_reme.typed.tool_usage import STATISTICS

LONGEST_MEMORY: Final = 100_000
"""Characters of one memory; longer texts belong into a file."""

MOST_METADATA: Final = 100
"""Keys of one memory."""
_LONGEST_KEY: Final = 200
_TARGET: Final = "memory_target"
_TYPE: Final = "memory_type"


def own_types(target: Target) -> tuple[MemoryType, ...]:
    """The types of memories a person may change of a target: never what was said."""
    if target.kind == "personal":
        return MemoryType.PERSONAL, MemoryType.PROFILE
    return (target.memory_type,)


def filter_of(target: Target, filters: Mapping[str, Any]) -> NodeFilter:
    """The nodes of a target that filters mean, as `VectorReMe.list_memory` takes them.

    Raises:
        BadInput: a filter does not fit, or would choose another target.
    """
    if not isinstance(filters, Mapping):
        raise BadInput(filters, "`filters` is no mapping", 'Pass {"score": [0.5, 1.0]}.')
    equal: dict[str, Scalar] = {}
    between: dict[str, tuple[Scalar, Scalar]] = {}
    types: tuple[MemoryType, ...] = ()
    for key, value in filters.items():
        if not isinstance(key, str) or key == _TARGET:
            raise BadInput(key, "filters cannot choose the target", "Use the name argument.")
        key_of("filters", key)
        if key == _TYPE:
            types = (_type(target, value),)
        elif isinstance(value, list | tuple):
            between[key] = _span(key, value)
        else:
            equal[key] = _scalar(key, value)
    if types == (MemoryType.HISTORY,):
        equal[ABOUT] = target.kind
    return target.where(*types, equal=equal, between=between)


def _type(target: Target, value: object) -> MemoryType:
    allowed = (*own_types(target), MemoryType.HISTORY)
    for kind in allowed:
        if value == kind:
            return kind
    known = ", ".join(sorted(allowed))
    raise BadInput(value, f"{target} has no memories of this type", f"Use one of: {known}.")


def _span(key: str, value: Sequence[Any]) -> tuple[Scalar, Scalar]:
    if len(value) != 2:
        raise BadInput(value, f"the range of `{key}` needs two ends", "Pass [lowest, highest].")
    return _scalar(key, value[0]), _scalar(key, value[1])


def metadata_of(given: Mapping[str, Any]) -> dict[str, Scalar]:
    """Metadata somebody adds by hand: no key may pass for something else.

    Raises:
        BadInput: a key or a value does not fit.
    """
    for key in given:
        if key in FIELDS or key == "metadata":
            raise BadInput(
                key, "this names a field of a memory, not a key of its metadata", _field_remedy(key)
            )
        if key == STATISTICS:
            raise BadInput(key, "this key marks the counts of a tool", "Choose another key.")
    return scalars_of(given)


def _field_remedy(key: str) -> str:
    if key == "content":
        return "Pass `memory_content`."
    if key == "metadata":
        return "Pass each key as an argument of its own: `project='x'`."
    return "It is set by this library; choose another key."


def scalars_of(metadata: Mapping[str, Any]) -> dict[str, Scalar]:
    """Metadata that every store can keep, filter and sort by.

    Raises:
        BadInput: a key or a value does not fit, or there are too many.
    """
    if len(metadata) > MOST_METADATA:
        raise BadInput(
            len(metadata), f"a memory has at most {MOST_METADATA} keys", "Keep less, or a file."
        )
    return {key_of("metadata", key): _scalar(key, value) for key, value in metadata.items()}


def key_of(argument: str, key: object) -> str:
    """A name of a field or of a metadata key.

    Raises:
        BadInput: no store can keep it.
    """
    if not isinstance(key, str) or not 1 <= len(key) <= _LONGEST_KEY:
        raise BadInput(
            key, f"a key of `{argument}` is no text of 1 to {_LONGEST_KEY} characters", "Rename it."
        )
    if "\0" in key or not is_text(key):
        raise BadInput(key, f"a key of `{argument}` holds characters no store keeps", "Rename it.")
    return key


def _scalar(key: str, value: object) -> Scalar:
    if isinstance(value, str):
        return text_of(key, value)
    if isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise BadInput(
        value, f"`{key}` is neither text, a finite number nor a truth value", "Pass one of these."
    )


def score_of(value: object) -> float:
    """How much a memory matters.

    Raises:
        BadInput: it is no finite number.
    """
    if not isinstance(value, bool) and isinstance(value, int | float):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
    raise BadInput(value, "`score` is no finite number", "Pass a number, usually 0 to 1.")


def text_of(argument: str, value: object, *, required: bool = False) -> str:
    """A text that every store can keep.

    Raises:
        BadInput: it is none, too long, or empty where something must be said.
    """
    if not isinstance(value, str) or (required and not value.strip()):
        raise BadInput(value, f"`{argument}` is no text, or an empty one", "Pass a string.")
    if len(value) > LONGEST_MEMORY:
        raise BadInput(
            value, f"`{argument}` is longer than {LONGEST_MEMORY} characters", "Keep it in a file."
        )
    return whole_characters(value)
