"""Takes a local index over into a shared one: ``python -m agentscope_reme.store.scaleout.migrate``.

Files stay where they are, and the index could be made anew from them; this copies what is known
already, and above all the vectors, which cost money. It can be stopped and run again.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from agentscope_reme.errors import ReMeError
from agentscope_reme.schema import text_hash
from agentscope_reme.settings import Settings
from agentscope_reme.store.base import BaseFileStore
from agentscope_reme.store.local_store import LocalFileStore
from agentscope_reme.store.records import IndexedFile
from agentscope_reme.store.scaleout.local_vectors import LocalVectors
from agentscope_reme.store.scaleout.shared_index import SharedIndex, milvus_index, seekdb_index
from agentscope_reme.workspace import Workspace

SECRET_VARIABLE: Final = "REME_SHARED_INDEX_PASSWORD"  # noqa: S105 - its name
"""The environment variable with the password or token: no other user sees it there."""
_FILES: Final = 100


@dataclass(frozen=True, slots=True)
class Migrated:
    """What was taken over: files that were not there yet, their chunks, and vectors."""

    files: int = 0
    chunks: int = 0
    vectors: int = 0


def migrate(workspace: Workspace, index: SharedIndex, settings: Settings | None = None) -> Migrated:
    """Copy the local index of a workspace, with its vectors, into a shared one.

    Whatever changes meanwhile is noticed by the next start of a worker, which compares the files.

    Args:
        workspace: whose.
        index: where to.
        settings: those of the workers.

    Raises:
        StorageFailed: one of the two cannot be read or written.
    """
    settings = settings or Settings()
    workspace.create()
    source, target = LocalFileStore(workspace, settings=settings), index(workspace, settings)
    source.open()
    try:
        target.open()
        try:
            return _copied(source, target, LocalVectors(workspace, most=1))
        finally:
            target.close()
    finally:
        source.close()


def _copied(source: BaseFileStore, target: BaseFileStore, vectors: LocalVectors) -> Migrated:
    known, spaces = target.stamps(), vectors.spaces()
    files = chunks = carried = 0
    paths = [path for path, stamp in source.stamps().items() if known.get(path) != stamp]
    for some in _batches(paths):
        batch = [
            IndexedFile(node, tuple(source.chunks(path)))
            for path in some
            if (node := source.node(path)) is not None
        ]
        target.apply(batch)
        files += len(batch)
        chunks += sum(len(file.chunks) for file in batch)
    for some in _batches(list(source.stamps())):
        texts = {text_hash(chunk.text) for path in some for chunk in source.chunks(path)}
        for space in reversed(spaces):  # the newest one is written last
            carried += _carry(target, vectors, space, sorted(texts))
    return Migrated(files, chunks, carried)


def _carry(target: BaseFileStore, vectors: LocalVectors, space: str, texts: Sequence[str]) -> int:
    found = vectors.get(space, texts)
    if found:
        target.put_vectors(space, found)
    return len(found)


def _batches(paths: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(paths), _FILES):
        yield paths[start : start + _FILES]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; 0 when everything was taken over."""
    given = _parser().parse_args(arguments)
    secret = os.environ.get(SECRET_VARIABLE, "")
    try:
        if given.engine == "milvus":
            index = milvus_index(namespace=given.namespace, uri=given.uri, token=secret)
        else:
            index = seekdb_index(
                namespace=given.namespace,
                host=given.host,
                port=given.port,
                user=given.login,
                password=secret,
                database=given.database,
                shards=given.shards,
            )
        for user in given.user or [None]:
            done = migrate(Workspace(given.workspace, user=user), index)
            print(
                f"{user or given.workspace}: {done.files} files, {done.chunks} chunks and "
                f"{done.vectors} vectors taken over"
            )
    except ReMeError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m agentscope_reme.store.scaleout.migrate",
        description="Copy the local index of a workspace, vectors included, into a shared one.",
        epilog=f"The password or token is read from the environment variable {SECRET_VARIABLE}.",
    )
    parser.add_argument("workspace", help="the folder `ReMe` is given")
    parser.add_argument("--namespace", required=True, help="of the application, as the workers use")
    parser.add_argument("--user", action="append", help="of the workspace; may be given repeatedly")
    parser.add_argument("--engine", choices=("seekdb", "milvus"), default="seekdb")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=2881)
    parser.add_argument("--login", default="root", help="of the database")
    parser.add_argument("--database", default="agentscope_reme")
    parser.add_argument("--shards", type=int, default=1, help="as the workers use")
    parser.add_argument("--uri", default="http://127.0.0.1:19530", help="of Milvus")
    return parser


if __name__ == "__main__":
    sys.exit(main())
