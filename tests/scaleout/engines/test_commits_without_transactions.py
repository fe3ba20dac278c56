"""Milvus has no transactions: a commit that ends half-way has not begun, or it has ended."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from agentscope_reme.errors import StorageFailed
from agentscope_reme.settings import Settings
from agentscope_reme.store.scaleout import milvus_index
from agentscope_reme.store.scaleout.milvus_collections import MilvusCollections, Record
from agentscope_reme.store.scaleout.milvus_engine import MilvusEngine
from agentscope_reme.store.scaleout.milvus_rows import of
from agentscope_reme.workspace import Workspace
from tests.scaleout.notes import FILES, PARTS, indexed_notes, path_of, versions_shown
from tests.scaleout.servers import MilvusServer

pytestmark = pytest.mark.scaleout
STEPS = ["heads first", "chunks", "files", "removal", "heads last"]


class Interrupted(MilvusCollections):
    """Writes until a step, and then no more."""

    until = ""

    def put(self, name: str, rows: Sequence[Record]) -> None:
        last = name == "heads" and not rows[0].get("pending")
        self._stop("heads last" if last else "heads first" if name == "heads" else name)
        super().put(name, rows)

    def delete(self, name: str, where: str) -> None:
        self._stop("removal")
        super().delete(name, where)

    def _stop(self, step: str) -> None:
        if step == self.until:
            raise StorageFailed("test", "the worker died here", "Start another one.")


@pytest.mark.parametrize("step", STEPS)
def test_whatever_was_done_the_files_are_whole(
    milvus: MilvusServer,
    namespace: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
) -> None:
    workspace = Workspace(tmp_path)
    workspace.create()
    index = milvus_index(namespace=namespace, uri=milvus.uri)
    store = index(workspace, Settings())
    store.open()
    store.apply(indexed_notes(1))
    assert isinstance(index.engine, MilvusEngine)
    rows = index.engine.rows
    monkeypatch.setattr(rows, "__class__", Interrupted)
    monkeypatch.setattr(Interrupted, "until", step)
    with pytest.raises(StorageFailed, match="died here"):
        store.apply(indexed_notes(2)[:-1], [path_of(FILES - 1)])
    monkeypatch.setattr(Interrupted, "until", "")
    before = step in ("heads first", "chunks", "files")
    shown = versions_shown(store)
    assert all(shown[path_of(n)] == ({"v1x"} if before else {"v2x"}) for n in range(FILES - 1))
    store.apply(indexed_notes(3)[:1])
    shown = versions_shown(store)
    assert shown[path_of(0)] == {"v3x"}
    assert all(len(shown[path_of(n)]) == 1 for n in range(1, FILES - 1))
    left = len(store.stamps())
    assert rows.count("chunks", of(namespace)) == left * PARTS  # swept up
    head = index.engine.head(namespace)
    assert head.answers == left * PARTS
    store.close()
