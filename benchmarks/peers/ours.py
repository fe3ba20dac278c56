"""AgentScope-ReMe, driven like the others: the file store; notes through a whole `ReMe`."""

from __future__ import annotations

import asyncio
from pathlib import Path

from agentscope_reme import ReMe, Settings
from agentscope_reme.schema import FileChunk, FileNode, chunk_id, content_hash
from agentscope_reme.store.bm25 import BM25Index
from agentscope_reme.store.local_store import LocalFileStore
from agentscope_reme.store.records import IndexedFile
from agentscope_reme.workspace import Workspace
from benchmarks.peers.driving import TOP, Engine, File, main


class OurEngine(Engine):
    """Every `apply` is a transaction; nothing is left to save."""

    has_bare_index = True
    has_notes = True

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self._bare = BM25Index()

    def index_in_memory(self, texts: dict[str, str]) -> None:
        self._bare.add_docs(texts)

    def open(self) -> None:
        self.store = LocalFileStore(Workspace(self.home))
        self.store.open()

    def add(self, files: list[File]) -> None:
        self.store.apply([records(file) for file in files])

    def search(self, query: str) -> list[str]:
        return [hit.text for hit in self.store.keyword_search(query, limit=TOP)]

    def replace(self, file: File) -> None:
        self.store.apply([records(file)])

    def close(self) -> None:
        self.store.close()

    def index_notes(self, workspace: Path) -> None:
        async def start_once() -> None:
            async with ReMe(workspace, settings=Settings(watch=False)):
                pass

        asyncio.run(start_once())
        self.store = LocalFileStore(Workspace(workspace))
        self.store.open()


def records(file: File) -> IndexedFile:
    """A file as the indexer would hand it to the store."""
    chunks = tuple(
        FileChunk(
            id=chunk_id(file.path, (), text, 0),
            path=file.path,
            start_line=10 * i + 1,
            end_line=10 * i + 9,
            text=text,
        )
        for i, text in enumerate(file.chunks)
    )
    node = FileNode(
        path=file.path,
        st_mtime_ns=1,
        size=sum(len(text) for text in file.chunks),
        content_hash=content_hash("".join(file.chunks).encode()),
        chunk_ids=tuple(chunk.id for chunk in chunks),
    )
    return IndexedFile(node, chunks)


if __name__ == "__main__":
    main(OurEngine)
