"""Rows of a shared index in Milvus: what they mean, and which of them count."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Final

from agentscope_reme.errors import StorageFailed
from agentscope_reme.store.records import FileStamp
from agentscope_reme.store.scaleout.engine import (
    ChunkOutline,
    ChunkRow,
    FileChange,
    FileRow,
    Restriction,
)
from agentscope_reme.store.scaleout.milvus_collections import (
    Record,
    among,
    hexed,
    key_of,
    unhexed,
)
from agentscope_reme.store.scaleout.milvus_schema import LONGEST_VALUE, MOST_TARGETS
from agentscope_reme.store.scaleout.rows import RAW_LAYER, tags_of
from agentscope_reme.workspace import layer_of

_MOST_RUNS: Final = 64
"""A file that grew more often than this is written anew, so that its row stays small."""
HEAD: Final = ("owner", "revision", "settled", "answers", "length", "pending")
FILE: Final = (
    "path", "content_hash", "rules", "record", "runs", "epoch", "mtime_ns", "size", "links",
    "chunks", "answers", "length",
)  # fmt: skip
OUTLINE: Final = ("path", "chunk_id", "born", "position", "answer", "start_line", "length")
CHUNK: Final = (*OUTLINE, "end_line", "text_hash", "text", "details")

Runs = tuple[tuple[int, int], ...]
"""Epochs of chunks that stayed when a file grew, each with the line it is valid below."""


def of(workspace: str) -> str:
    """The condition every filter begins with."""
    return f'workspace == "{key_of(workspace)}"'


def keys(workspace: str, *parts: str) -> Record:
    """The keys of a row that is known by some names in its workspace."""
    return {"key": key_of(workspace, *parts), "workspace": key_of(workspace)}


def below_prefix(prefix: str) -> str:
    """A further condition: the path starts like this."""
    return f' and path >= "{hexed(prefix)}" and path < "{hexed(prefix)}g"' if prefix else ""


def restricted(only: Restriction) -> str:
    """Further conditions."""
    conditions: list[str] = []
    if only.raw is not None:
        conditions.append(f'layer {"==" if only.raw else "!="} "{hexed(RAW_LAYER)}"')
    if only.layers is not None:
        conditions.append(among("layer", [hexed(layer) for layer in only.layers]))
    if only.paths is not None:
        conditions.append(among("path", [hexed(path) for path in only.paths]))
    return "".join(f" and {condition}" for condition in conditions) + below_prefix(only.prefix)


def counts(chunk: Record, file: Record) -> bool:
    """Whether a chunk belongs to the version of a file that counts."""
    if chunk["born"] == file["epoch"]:
        return True
    runs = json.loads(file["runs"])
    return any(chunk["born"] == born and chunk["start_line"] < below for born, below in runs)


def runs_of(change: FileChange, before: Record | None) -> Runs | None:
    """Which earlier chunks stay; ``None`` when that cannot be."""
    if change.base is None:
        return ()
    if before is None or stamp_of(before) != change.base:
        return None
    runs = [*json.loads(before["runs"]), (before["epoch"], change.keep_below)]
    if len(runs) > _MOST_RUNS:
        return None
    return tuple((born, min(below, change.keep_below)) for born, below in runs)


def table_of(name: str, width: int) -> int:
    """The number of the collection of a space."""
    return int(key_of(name, str(width))[:12], 16)


def vectors_in(table: int) -> str:
    """The collection with such a number."""
    return f"vectors_{table:x}"


def file_row(workspace: str, change: FileChange, epoch: int, runs: Runs) -> Record:
    """A file as it is stored; see `MilvusEngine` for epochs."""
    file, targets = change.file, sorted({key_of(link.target_path) for link in change.file.links})
    return {
        **keys(workspace, file.path),
        "path": hexed(file.path),
        "content_hash": file.stamp.content_hash,
        "rules": file.rules,
        "record": _fitting(file.path, _packed(file.record)),
        "runs": json.dumps(runs),
        "targets": targets[:MOST_TARGETS],
        "epoch": epoch,
        "mtime_ns": file.stamp.mtime_ns,
        "size": file.stamp.size,
        "links": len(file.links),
        "chunks": change.chunk_count,
        "answers": file.answers,
        "length": file.length,
    }


def chunk_record(workspace: str, path: str, chunk: ChunkRow, epoch: int) -> Record:
    """A chunk as it is stored."""
    terms = chunk.terms
    if len(terms) > LONGEST_VALUE:  # repeats come one behind the other, so the last terms are lost
        terms = terms[:LONGEST_VALUE].rpartition(" ")[0]
    return {
        **keys(workspace, chunk.chunk_id, str(epoch)),
        "path": hexed(path),
        "layer": hexed(layer_of(path)),
        "chunk_id": chunk.chunk_id,
        "text_hash": chunk.text_hash,
        "text": _fitting(path, _safe(chunk.text)),
        "details": _fitting(path, chunk.details.decode("ascii")),
        "terms": terms,
        "born": epoch,
        "position": chunk.position,
        "answer": chunk.answer,
        "start_line": chunk.start_line,
        "end_line": chunk.end_line,
        "length": chunk.length,
    }


def file_of(row: Record) -> FileRow:
    """A stored file, its links left out."""
    record = unpacked(row["record"])
    return FileRow(
        path=unhexed(row["path"]),
        stamp=stamp_of(row),
        rules=row["rules"],
        record=record,
        tags=tags_of(record),
        answers=row["answers"],
        length=row["length"],
    )


def stamp_of(row: Record) -> FileStamp:
    """The stamp of a stored file."""
    return FileStamp(row["mtime_ns"], row["size"], row["content_hash"])


def outline_of(row: Record) -> ChunkOutline:
    """A stored chunk, of the fields of `OUTLINE`."""
    return ChunkOutline(
        row["chunk_id"], row["position"], row["answer"], row["start_line"], row["length"]
    )


def chunk_of(row: Record) -> ChunkRow:
    """A stored chunk, of the fields of `CHUNK`."""
    return ChunkRow(
        chunk_id=row["chunk_id"],
        position=row["position"],
        answer=row["answer"],
        start_line=row["start_line"],
        end_line=row["end_line"],
        length=row["length"],
        text_hash=row["text_hash"],
        text=row["text"].encode("utf-8"),
        details=row["details"].encode("ascii"),
        terms=row.get("terms", ""),
    )


def unpacked(record: str) -> bytes:
    """The record `file_row` packed."""
    return zlib.decompress(base64.b85decode(record))


def _packed(record: bytes) -> str:
    return base64.b85encode(zlib.compress(record)).decode("ascii")


def _fitting(path: str, value: str) -> str:
    if len(value.encode("utf-8")) > LONGEST_VALUE:
        raise StorageFailed(
            path,
            f"Milvus keeps {LONGEST_VALUE} bytes in a field, and this file needs more",
            "Use a smaller `Settings.chunk_byte_size`, or split its front matter and links.",
        )
    return value


def _safe(text: bytes) -> str:
    """UTF-8 as Milvus takes it: lone surrogates, which it does not, are lost as ``?``."""
    return text.decode("utf-8", "surrogatepass").encode("utf-8", "replace").decode("utf-8")
