"""What is searched in memory is compared with what is kept on the disk."""

from __future__ import annotations

import pytest

from agentscope_reme.store.audit import EXTRA, MISSING, NO_FILE, OTHER_FILES
from agentscope_reme.store.local_store import LocalFileStore
from tests.store.builders import indexed


@pytest.fixture
def filled(local_store: LocalFileStore) -> LocalFileStore:
    for name in "abc":
        local_store.apply([indexed(f"{name}.md", f"# {name}\n\napple {name}\n\n# two\n\npear")])
    return local_store


@pytest.mark.parametrize("sealed", [False, True], ids=["in the tail", "in a segment"])
def test_a_sound_index_has_no_differences(filled: LocalFileStore, sealed: bool) -> None:
    filled.apply([], ["c.md"])
    filled.apply([indexed("b.md", "# b\n\napple b\n\n# two\n\nplum")])
    if sealed:
        filled._session.seal()
    assert filled.audit() == {}
    filled.reload()
    assert filled.audit() == {}


@pytest.mark.parametrize("sealed", [False, True], ids=["in the tail", "in a segment"])
def test_a_chunk_that_cannot_be_found_any_more_is_named(
    filled: LocalFileStore, sealed: bool
) -> None:
    if sealed:
        filled._session.seal()
    state = filled._session.state
    entry = state.files.get("b.md")
    assert entry is not None
    state.index.delete([entry.first_slot])
    assert filled.audit() == {"b.md": MISSING}
    filled.reload()
    assert filled.audit() == {}
    assert "b.md" in {hit.path for hit in filled.keyword_search("apple", limit=9)}


def test_a_chunk_that_is_not_there_any_more_is_named(filled: LocalFileStore) -> None:
    connection = filled._session.connection
    connection.execute("UPDATE chunks SET searchable = 0 WHERE slot = 0")
    assert filled.audit() == {"a.md": EXTRA}


def test_a_file_that_memory_alone_knows_is_named(filled: LocalFileStore) -> None:
    filled._session.connection.execute("DELETE FROM files WHERE path = 'c.md'")
    filled._session.connection.execute("DELETE FROM chunks WHERE file_id = 3")
    assert filled.audit() == {"c.md": OTHER_FILES}
    filled.reload()
    assert filled.audit() == {}


def test_a_chunk_of_no_file_is_named(filled: LocalFileStore) -> None:
    filled._session.state.files.pop("a.md")
    filled._session.connection.execute("DELETE FROM files WHERE path = 'a.md'")
    filled._session.connection.execute("DELETE FROM chunks WHERE file_id = 1")
    assert filled.audit() == {NO_FILE: EXTRA}
