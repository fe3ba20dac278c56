"""Another process commits between a commit here and what follows it: nothing is skipped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agentscope_reme.settings import Settings
from agentscope_reme.store.local_store import LocalFileStore
from agentscope_reme.store.records import FileGrowth, FileStamp
from agentscope_reme.workspace import Workspace
from tests.store.builders import indexed


@pytest.fixture
def other(workspace: Workspace, local_store: LocalFileStore) -> Any:
    store = LocalFileStore(workspace, settings=Settings())
    store.open()
    yield store
    store.close()


def found(store: LocalFileStore, query: str) -> list[str]:
    return [hit.path for hit in store.keyword_search(query, limit=5)]


def before_publishing(store: LocalFileStore, meanwhile: Callable[[], None]) -> None:
    """Run `meanwhile` once, after the store's next commit and before it takes note of it."""
    state = store._session.state
    publish = state.publish

    def then(*arguments: Any) -> None:
        state.publish = publish  # type: ignore[method-assign]
        meanwhile()
        publish(*arguments)

    state.publish = then  # type: ignore[method-assign]


def test_a_file_written_in_between_is_found(
    local_store: LocalFileStore, other: LocalFileStore
) -> None:
    before_publishing(local_store, lambda: other.apply([indexed("b.md", "bravo")]))
    local_store.apply([indexed("a.md", "alpha")])
    assert found(local_store, "bravo") == ["b.md"]
    assert found(local_store, "alpha") == ["a.md"]
    assert found(other, "alpha") == ["a.md"]
    assert local_store.stats().revision == other.stats().revision


def test_a_file_deleted_in_between_is_gone(
    local_store: LocalFileStore, other: LocalFileStore
) -> None:
    local_store.apply([indexed("b.md", "bravo")])
    before_publishing(local_store, lambda: other.apply([], ["b.md"]))
    local_store.apply([indexed("a.md", "alpha")])
    assert found(local_store, "bravo") == []
    assert local_store.audit() == {}


def test_the_same_file_written_in_between_shows_the_last_version(
    local_store: LocalFileStore, other: LocalFileStore
) -> None:
    before_publishing(local_store, lambda: other.apply([indexed("a.md", "second")]))
    local_store.apply([indexed("a.md", "first")])
    assert found(local_store, "second") == ["a.md"]
    assert found(local_store, "first") == []
    assert local_store.audit() == {}


def after_looking(store: LocalFileStore, meanwhile: Callable[[], None]) -> None:
    """Run `meanwhile` once, after the store has looked a file up and before it reads of it."""
    files = store._session.state.files
    get = files.get

    def then(path: str) -> Any:
        files.get = get  # type: ignore[method-assign]
        entry = get(path)
        meanwhile()
        return entry

    files.get = then  # type: ignore[method-assign]


def test_a_file_deleted_while_it_is_compared_is_written_anew(
    local_store: LocalFileStore, other: LocalFileStore
) -> None:
    local_store.apply([indexed("a.md", "first")])
    after_looking(local_store, lambda: other.apply([], ["a.md"]))
    local_store.apply([indexed("a.md", "second")])
    assert found(local_store, "second") == ["a.md"]
    assert found(local_store, "first") == []
    assert local_store.audit() == {}


def test_a_file_deleted_while_it_grows_is_no_continuation(
    local_store: LocalFileStore, other: LocalFileStore
) -> None:
    local_store.apply([indexed("a.md", "first")])
    before = local_store.stamps()["a.md"]
    after = FileStamp(2, before.size + 7, "another")
    chunks = indexed("a.md", "second").chunks
    after_looking(local_store, lambda: other.apply([], ["a.md"]))
    assert not local_store.grow(FileGrowth("a.md", before, after, 2, chunks))
    assert found(local_store, "second") == []
    assert local_store.audit() == {}
