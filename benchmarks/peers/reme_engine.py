"""ReMe (reme-ai): its file store with BM25 and its Markdown chunker, without any model."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Awaitable
from pathlib import Path
from typing import TypeVar

os.environ.setdefault("REME_DISABLE_LOGURU", "true")  # its log files would be written to the home

from reme.components.file_chunker import MarkdownFileChunker
from reme.components.file_store import LocalFileStore
from reme.components.keyword_index import BM25Index
from reme.schema import FileChunk, FileNode

from benchmarks.peers.driving import FILES_PER_BATCH, TOP, Engine, File, main

T = TypeVar("T")


class ReMeEngine(Engine):
    """Changes are in memory until a snapshot of everything; it takes one after every batch.

    Standing alone, its components keep their files in the working directory.
    """

    saves_by_itself = False
    has_bare_index = True
    has_notes = True
    _bare: BM25Index | None = None

    def open(self) -> None:
        logging.disable(logging.WARNING)  # a line for every step; printing them is not its work
        self._loop = asyncio.new_event_loop()
        self._store = LocalFileStore(name="default", embedding_store="")
        self._run(self._store.start())

    def add(self, files: list[File]) -> None:
        self._run(self._store.upsert([_records(file) for file in files]))

    def search(self, query: str) -> list[str]:
        return [chunk.text for chunk in self._run(self._store.keyword_search(query, TOP, {}))]

    def replace(self, file: File) -> None:
        self.add([file])

    def save(self) -> None:
        self._run(self._store.dump())

    def index_in_memory(self, texts: dict[str, str]) -> None:
        self._run(self._bare_index().add_docs(texts))

    def _bare_index(self) -> BM25Index:
        if self._bare is None:
            logging.disable(logging.WARNING)
            self._loop = asyncio.new_event_loop()
            self._bare = BM25Index()
            self._run(self._bare.start())
        return self._bare

    def close(self) -> None:
        self._run(self._store.close())
        self._loop.close()

    def index_notes(self, workspace: Path) -> None:
        self.open()
        chunker = MarkdownFileChunker()
        places = sorted(workspace.rglob("*.md"))

        async def index() -> None:
            for start in range(0, len(places), FILES_PER_BATCH):
                batch = [await chunker.chunk(p) for p in places[start : start + FILES_PER_BATCH]]
                await self._store.upsert(batch)
            await self._store.dump()

        self._run(index())

    def query_seconds(self, queries: list[str]) -> list[float]:
        async def ask() -> list[float]:
            spent: list[float] = []
            for query in queries:
                started = time.perf_counter()
                await self._store.keyword_search(query, TOP, {})
                spent.append(time.perf_counter() - started)
            return spent

        return self._run(ask())

    def _run(self, work: Awaitable[T]) -> T:
        return self._loop.run_until_complete(work)


def _records(file: File) -> tuple[FileNode, list[FileChunk]]:
    chunks = [
        FileChunk(
            text=text, path=file.path, start_line=10 * i + 1, end_line=10 * i + 9
        ).set_hash_id()
        for i, text in enumerate(file.chunks)
    ]
    node = FileNode(path=file.path, st_mtime=1.0, chunk_ids=[chunk.id for chunk in chunks])
    return node, chunks


if __name__ == "__main__":
    main(ReMeEngine)
