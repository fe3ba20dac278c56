"""The fields of the collections of a shared index in Milvus."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

LONGEST_VALUE: Final = 65_535
"""Bytes in a field of text: Milvus' limit."""
MOST_TARGETS: Final = 4096
_LONGEST_KEY: Final = 64
_LONGEST_PATH: Final = 4096


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a collection: its name, its type in `DataType`, what the client takes besides."""

    name: str
    kind: str
    options: dict[str, Any] = field(default_factory=dict)


def _text(name: str, longest: int, **options: Any) -> Field:
    return Field(name, "VARCHAR", {"max_length": longest, **options})


def _number(name: str) -> Field:
    return Field(name, "INT64")


_KEYS: Final = (
    _text("key", _LONGEST_KEY, is_primary=True),
    _text("workspace", _LONGEST_KEY, is_partition_key=True),
)
_NO_VECTOR: Final = Field("unused", "FLOAT_VECTOR", {"dim": 2})
FIELDS: Final[dict[str, tuple[Field, ...]]] = {
    "heads": (
        *_KEYS,
        _text("owner", _LONGEST_KEY),
        *map(_number, ("revision", "settled", "answers", "length", "pending")),
        _NO_VECTOR,
    ),
    "spaces": (
        *_KEYS,
        _text("name", _LONGEST_PATH),
        _number("width"),
        _number("written"),
        _NO_VECTOR,
    ),
    "files": (
        *_KEYS,
        _text("path", _LONGEST_PATH),
        _text("content_hash", _LONGEST_KEY),
        _text("rules", _LONGEST_PATH),
        _text("record", LONGEST_VALUE),
        _text("runs", LONGEST_VALUE),
        Field("targets", "ARRAY", {"max_capacity": MOST_TARGETS, "max_length": _LONGEST_KEY}),
        *map(_number, ("epoch", "mtime_ns", "size", "links", "chunks", "answers", "length")),
        _NO_VECTOR,
    ),
    "chunks": (
        *_KEYS,
        _text("path", _LONGEST_PATH),
        _text("layer", _LONGEST_PATH),
        _text("chunk_id", _LONGEST_KEY),
        _text("text_hash", _LONGEST_KEY),
        _text("text", LONGEST_VALUE),
        _text("details", LONGEST_VALUE),
        _text(
            "terms", LONGEST_VALUE, enable_analyzer=True, analyzer_params={"tokenizer": "standard"}
        ),
        *map(_number, ("born", "position", "answer", "start_line", "end_line", "length")),
        Field("words", "SPARSE_FLOAT_VECTOR"),
    ),
}


def vector_fields(width: int) -> tuple[Field, ...]:
    """Those of the collection of an embedding space."""
    return (
        *_KEYS,
        _text("text_hash", _LONGEST_KEY),
        Field("vector", "FLOAT_VECTOR", {"dim": width}),
    )
