"""A second implementation of the store contract, small enough to be read at a glance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from agentscope_reme.errors import StorageFailed
from agentscope_reme.files.wikilinks import parse_wikilinks
from agentscope_reme.schema import FileChunk, FileLink, FileNode, SearchHit, content_hash
from agentscope_reme.store.base import BaseFileStore
from agentscope_reme.store.records import FileStamp, IndexedFile, SearchFilter, StoreStats


class MemoryStore(BaseFileStore):
    """Keeps everything in a dictionary; `broken` makes it refuse, `transactions` counts."""

    def __init__(self) -> None:
        self.files: dict[str, IndexedFile] = {}
        self.broken = False
        self.transactions = 0

    def open(self) -> None: ...

    def close(self) -> None: ...

    def apply(self, upserts: Sequence[IndexedFile], deletes: Sequence[str] = ()) -> None:
        if self.broken:
            raise StorageFailed("index", "the index is broken", "Mend it.")
        self.transactions += 1
        self.files.update({file.node.path: file for file in upserts})
        for path in deletes:
            self.files.pop(path, None)

    def refresh(self) -> None: ...

    def clear(self) -> None:
        self.files.clear()

    def node(self, path: str) -> FileNode | None:
        return self.files[path].node if path in self.files else None

    def nodes(self, prefix: str = "") -> list[FileNode]:
        return [self.files[path].node for path in sorted(self.files) if path.startswith(prefix)]

    def chunks(self, path: str) -> list[FileChunk]:
        return list(self.files[path].chunks) if path in self.files else []

    def stamps(self) -> dict[str, FileStamp]:
        nodes = self.nodes()
        return {n.path: FileStamp(n.st_mtime_ns, n.size, n.content_hash) for n in nodes}

    def keyword_search(
        self, query: str, *, limit: int, where: SearchFilter | None = None
    ) -> list[SearchHit]:
        chunks = [chunk for file in self.files.values() for chunk in file.chunks]
        return [_hit(chunk) for chunk in chunks if query in chunk.text][:limit]

    def vector_search(
        self,
        vector: Sequence[float],
        *,
        limit: int,
        where: SearchFilter | None = None,
        space_id: str | None = None,
    ) -> list[SearchHit]:
        return []

    def outlinks(self, path: str) -> list[FileLink]:
        return list(self.files[path].node.links) if path in self.files else []

    def inlinks(self, path: str) -> list[FileLink]:
        links = [link for node in self.nodes() for link in node.links]
        return [link for link in links if link.target_path == path and link.source_path != path]

    def tags(self) -> dict[str, int]:
        return dict(Counter(tag for node in self.nodes() for tag in node.tags))

    def missing_vectors(self, space_id: str, limit: int) -> list[tuple[str, str]]:
        return []

    def put_vectors(self, space_id: str, vectors: Mapping[str, Sequence[float]]) -> None: ...

    def optimize(self) -> None: ...

    def stats(self) -> StoreStats:
        return StoreStats(files=len(self.files))


class PlainIndexer:
    """One chunk per file; `understood` lists the paths it was asked about."""

    def __init__(self) -> None:
        self.understood: list[str] = []

    def indexable(self, path: str) -> bool:
        return path.endswith((".md", ".txt", ".jsonl"))

    def index(self, path: str, data: bytes, *, mtime_ns: int) -> IndexedFile:
        self.understood.append(path)
        text = data.decode("utf-8")
        links = tuple(parse_wikilinks(text, path)) if path.endswith(".md") else ()
        chunk = FileChunk(id=path, path=path, start_line=1, end_line=1, text=text)
        node = FileNode(
            path=path,
            st_mtime_ns=mtime_ns,
            size=len(data),
            content_hash=content_hash(data),
            links=links,
            chunk_ids=(path,),
        )
        return IndexedFile(node, (chunk,))


def _hit(chunk: FileChunk) -> SearchHit:
    return SearchHit(
        chunk_id=chunk.id, path=chunk.path, start_line=1, end_line=1, text=chunk.text, score=1.0
    )
