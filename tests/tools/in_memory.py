"""Files and an index that live in dictionaries: as honest as the real ones, without a disk."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Mapping, Sequence

from agentscope_reme.errors import Conflict, NotFound
from agentscope_reme.files.changes import ANY, Expected
from agentscope_reme.files.views import ViewChange
from agentscope_reme.files.wikilinks import parse_wikilinks, retarget_wikilinks
from agentscope_reme.schema import FileChunk, FileLink, FileNode, SearchHit, content_hash
from agentscope_reme.store.base import BaseFileStore
from agentscope_reme.store.records import FileStamp, IndexedFile, SearchFilter, StoreStats


class InMemoryStore(BaseFileStore):
    """An index of nodes; it finds words by looking at every chunk."""

    def __init__(self) -> None:
        self.files: dict[str, IndexedFile] = {}

    def open(self) -> None: ...

    def close(self) -> None: ...

    def refresh(self) -> None: ...

    def optimize(self) -> None: ...

    def apply(self, upserts: Sequence[IndexedFile], deletes: Sequence[str] = ()) -> None:
        for path in deletes:
            self.files.pop(path, None)
        self.files.update({entry.node.path: entry for entry in upserts})

    def clear(self) -> None:
        self.files.clear()

    def node(self, path: str) -> FileNode | None:
        return self.files[path].node if path in self.files else None

    def nodes(self, prefix: str = "") -> list[FileNode]:
        return [self.files[path].node for path in sorted(self.files) if path.startswith(prefix)]

    def chunks(self, path: str) -> list[FileChunk]:
        return list(self.files[path].chunks) if path in self.files else []

    def stamps(self) -> dict[str, FileStamp]:
        return {
            path: FileStamp(entry.node.st_mtime_ns, entry.node.size, entry.node.content_hash)
            for path, entry in self.files.items()
        }

    def keyword_search(
        self, query: str, *, limit: int, where: SearchFilter | None = None
    ) -> list[SearchHit]:
        found = [c for entry in self.files.values() for c in entry.chunks if query in c.text]
        return [
            SearchHit(
                chunk_id=c.id,
                path=c.path,
                start_line=c.start_line,
                end_line=c.end_line,
                text=c.text,
                score=1.0,
            )
            for c in found[:limit]
        ]

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
        return [
            link
            for source in sorted(self.files)
            for link in self.files[source].node.links
            if link.target_path == path and source != path
        ]

    def tags(self) -> dict[str, int]:
        return {}

    def missing_vectors(self, space_id: str, limit: int) -> list[tuple[str, str]]:
        return []

    def put_vectors(self, space_id: str, vectors: Mapping[str, Sequence[float]]) -> None: ...

    def stats(self) -> StoreStats:
        return StoreStats(files=len(self.files))


class InMemoryView:
    """A `FileView` over a dictionary that keeps an `InMemoryStore` up to date."""

    def __init__(self, store: InMemoryStore) -> None:
        self._store = store
        self._files: dict[str, bytes] = {}
        self._lock = threading.RLock()
        self._changes = itertools.count(1)

    def exists(self, path: str) -> bool:
        return path in self._files

    def read(self, path: str) -> bytes:
        try:
            return self._files[path]
        except KeyError:
            raise NotFound(path, "no such file", "Look again.") from None

    def paths(self, prefix: str = "") -> list[str]:
        return sorted(p for p in self._files if not prefix or p.startswith(f"{prefix}/"))

    def inlinks(self, path: str) -> list[FileLink]:
        return self._store.inlinks(path)

    def write(self, path: str, data: bytes, *, expected: Expected = ANY) -> ViewChange:
        with self._lock:
            now = content_hash(self._files[path]) if path in self._files else None
            if expected is not ANY and expected != now:
                raise Conflict(path, "it has changed", "Read it again.", current_hash=now)
            self._put(path, data)
            return self._change(path, created=now is None)

    def delete(self, path: str) -> ViewChange:
        with self._lock:
            gone = [path] if path in self._files else self.paths(path)
            if not gone:
                raise NotFound(path, "no such file", "Look again.")
            inbound = [link for p in gone for link in self.inlinks(p)]
            for name in gone:
                del self._files[name]
            self._store.apply([], gone)
            outside = [link for link in inbound if link.source_path not in gone]
            return self._change(path, inbound=tuple(outside))

    def move(
        self, src: str, dst: str, *, overwrite: bool = False, retarget: bool = True
    ) -> ViewChange:
        with self._lock:
            sources = [src] if src in self._files else self.paths(src)
            moves = {path: dst + path[len(src) :] for path in sources}
            taken = [path for path in moves.values() if path in self._files]
            if taken and not overwrite:
                raise Conflict(dst, "a file stands there", "Pass overwrite=True.")
            inbound = tuple(link for path in sources for link in self.inlinks(path))
            for old, new in moves.items():
                self._put(new, self._files.pop(old))
            self._store.apply([], sources)
            touched = self._retarget(moves) if retarget else ()
            return self._change(dst, inbound=inbound, touched=touched)

    def _retarget(self, moves: Mapping[str, str]) -> tuple[str, ...]:
        touched = []
        for path in self.paths():
            before = self._files[path].decode("utf-8", "surrogateescape")
            text, count = retarget_wikilinks(before, moves)
            if count:
                self._put(path, text.encode("utf-8", "surrogateescape"))
                touched.append(path)
        return tuple(touched)

    def _put(self, path: str, data: bytes) -> None:
        self._files[path] = data
        links = parse_wikilinks(data.decode("utf-8", "replace"), path)
        node = FileNode(
            path=path,
            st_mtime_ns=0,
            size=len(data),
            content_hash=content_hash(data),
            links=tuple(links),
        )
        self._store.apply([IndexedFile(node, ())])

    def _change(
        self,
        path: str,
        *,
        created: bool = False,
        inbound: tuple[FileLink, ...] = (),
        touched: tuple[str, ...] = (),
    ) -> ViewChange:
        data = self._files.get(path)
        return ViewChange(
            change_id=f"change-{next(self._changes)}",
            content_hash=None if data is None else content_hash(data),
            created=created,
            inbound=inbound,
            touched=touched,
        )
