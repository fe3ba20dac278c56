"""Files and chunks as rows of a shared engine, and back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from agentscope_reme.schema import (
    FileChunk,
    FileLink,
    FileNode,
    FrontMatter,
    SearchHit,
    text_hash,
)
from agentscope_reme.store.filters import days_of_chunk, days_within, plain_value
from agentscope_reme.store.indexed_text import ChunkWords, IndexedText
from agentscope_reme.store.records import FileGrowth, FileStamp, IndexedFile, SearchFilter
from agentscope_reme.store.scaleout.engine import (
    ChunkOutline,
    ChunkRow,
    FileChange,
    FileRow,
    FoundChunk,
)
from agentscope_reme.store.scaleout.opaque_terms import OpaqueTerms
from agentscope_reme.workspace import layer_of

RAW_LAYER: Final = "session"


def is_raw(path: str) -> bool:
    """Whether a file holds what was said, and nothing distilled from it."""
    return layer_of(path) == RAW_LAYER


class RowMaker:
    """Makes the rows of one workspace.

    Args:
        text: counts terms.
        terms: disguises them.
        rules: names the way files are cut and terms are counted.
    """

    def __init__(self, text: IndexedText, terms: OpaqueTerms, rules: str) -> None:
        self._text: Final = text
        self._terms: Final = terms
        self._rules: Final = rules

    def whole(self, file: IndexedFile) -> FileChange:
        """A file that replaces whatever is stored of it."""
        words = self._text.words(file.node, file.chunks)
        chunks = self._chunks(file.node.path, file.chunks, words, position=0, answer=0)
        return FileChange(self._file(file.node, chunks, ()), chunks, len(chunks))

    def grown(
        self, growth: FileGrowth, before: FileRow, stored: Sequence[ChunkOutline]
    ) -> FileChange:
        """A file that went on.

        Args:
            growth: what is new.
            before: what is stored.
            stored: its chunks.
        """
        kept = [chunk for chunk in stored if chunk.start_line < growth.first_line]
        answers = sum(chunk.answer >= 0 for chunk in kept)
        node = FileNode(
            path=growth.path,
            st_mtime_ns=growth.stamp.mtime_ns,
            size=growth.stamp.size,
            content_hash=growth.stamp.content_hash,
        )
        words = self._text.words(node, growth.chunks, continued=answers > 0)
        chunks = self._chunks(growth.path, growth.chunks, words, position=len(kept), answer=answers)
        file = self._file(node_of(before, ()).model_copy(update=_stamped(growth)), chunks, kept)
        count = len(kept) + len(chunks)
        return FileChange(file, chunks, count, growth.first_line, before.stamp)

    def _file(
        self, node: FileNode, chunks: Sequence[ChunkRow], kept: Sequence[ChunkOutline]
    ) -> FileRow:
        rows: list[ChunkRow | ChunkOutline] = [*kept, *chunks]
        found = [row for row in rows if row.answer >= 0]
        return FileRow(
            path=node.path,
            stamp=FileStamp(node.st_mtime_ns, node.size, node.content_hash),
            rules=self._rules,
            record=_packed_node(node),
            tags=node.tags,
            links=node.links,
            answers=len(found),
            length=sum(row.length for row in found),
        )

    def _chunks(
        self,
        path: str,
        chunks: Sequence[FileChunk],
        words: Sequence[ChunkWords | None],
        *,
        position: int,
        answer: int,
    ) -> tuple[ChunkRow, ...]:
        rows, raw = list[ChunkRow](), is_raw(path)
        for place, (chunk, of_chunk) in enumerate(zip(chunks, words, strict=True), position):
            rows.append(
                ChunkRow(
                    chunk_id=chunk.id,
                    position=place,
                    answer=-1 if of_chunk is None else answer,
                    start_line=chunk.start_line,
                    end_line=chunk.end_line,
                    length=0 if of_chunk is None else of_chunk.length,
                    text_hash=text_hash(chunk.text),
                    text=chunk.text.encode("utf-8", "surrogatepass"),
                    details=_packed_details(chunk),
                    terms="" if of_chunk is None else self._terms.field(of_chunk.counts, raw=raw),
                )
            )
            answer += of_chunk is not None
        return tuple(rows)


def node_of(file: FileRow, chunk_ids: Sequence[str]) -> FileNode:
    """The node a row was made of."""
    record = json.loads(file.record)
    return FileNode(
        path=file.path,
        st_mtime_ns=file.stamp.mtime_ns,
        size=file.stamp.size,
        content_hash=file.stamp.content_hash,
        links=links_of(file),
        chunk_ids=tuple(chunk_ids),
        front_matter=FrontMatter(**record["front"]),
        front_matter_error=record["error"],
        tags=tuple(record["tags"]),
    )


def links_of(file: FileRow) -> tuple[FileLink, ...]:
    """The links written in a file, in order."""
    return tuple(
        FileLink(source_path=file.path, target_path=target, target_anchor=anchor, kind=kind)
        for target, anchor, kind in json.loads(file.record)["links"]
    )


def tags_of(record: bytes) -> tuple[str, ...]:
    """A file's tags."""
    return tuple(json.loads(record)["tags"])


def front_matter_of(record: bytes) -> dict[str, Any]:
    """A file's whole front matter, as filters compare it."""
    front: dict[str, Any] = json.loads(record)["front"]
    return front


def chunk_of(path: str, row: ChunkRow) -> FileChunk:
    """The chunk a row was made of."""
    headings, metadata = _unpacked_details(row.details)
    return FileChunk(
        id=row.chunk_id,
        path=path,
        start_line=row.start_line,
        end_line=row.end_line,
        text=row.text.decode("utf-8", "surrogatepass"),
        headings=headings,
        metadata=metadata,
    )


def hit_of(
    found: FoundChunk, score: float, branch: str, rank: int, where: SearchFilter | None
) -> SearchHit:
    """A found chunk as the answer to a search; of several days the last one that passes shows."""
    row, front = found.chunk, front_matter_of(found.record)
    headings, metadata = _unpacked_details(row.details)
    days = days_of_chunk(found.path, front, metadata)
    shown = days_within(where, days) or days
    return SearchHit(
        chunk_id=row.chunk_id,
        path=found.path,
        start_line=row.start_line,
        end_line=row.end_line,
        text=row.text.decode("utf-8", "surrogatepass"),
        headings=headings,
        score=score,
        scores={branch: score},
        ranks={branch: rank},
        date=shown[-1] if shown else None,
        name=front["name"],
        description=front["description"],
    )


def days_pass(found: FoundChunk, where: SearchFilter) -> bool:
    """Whether one of a chunk's days meets the condition on dates; those without a day do."""
    metadata = _unpacked_details(found.chunk.details)[1]
    days = days_of_chunk(found.path, front_matter_of(found.record), metadata)
    return not days or bool(days_within(where, days))


def _stamped(growth: FileGrowth) -> dict[str, Any]:
    return {
        "st_mtime_ns": growth.stamp.mtime_ns,
        "size": growth.stamp.size,
        "content_hash": growth.stamp.content_hash,
    }


def _packed_node(node: FileNode) -> bytes:
    front = node.front_matter
    extra = {key: plain_value(value) for key, value in front.extra.items()}
    return _packed(
        {
            "front": {**extra, "name": front.name, "description": front.description},
            "error": node.front_matter_error,
            "tags": node.tags,
            "links": [(k.target_path, k.target_anchor, k.kind) for k in node.links],
        }
    )


def _packed_details(chunk: FileChunk) -> bytes:
    if not chunk.headings and not chunk.metadata:
        return b""
    return _packed([chunk.headings, chunk.metadata])


def _unpacked_details(details: bytes) -> tuple[tuple[str, ...], dict[str, Any]]:
    if not details:
        return (), {}
    headings, metadata = json.loads(details)
    return tuple(headings), metadata


def _packed(value: Any) -> bytes:
    return json.dumps(value, default=plain_value, separators=(",", ":")).encode("ascii")
