"""What is forgotten is nowhere in the workspace: every byte of every file is searched."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme import ReMe
from agentscope_reme.files.locks import resource_claim
from agentscope_reme.store.term_keys import term_key
from agentscope_reme.store.tokenizers import MemoryTokenizer
from tests.forgetting.life import CARD, LOG, NODE, SECRETS, SHARED, leaks

REQUESTS: dict[str, dict[str, Any]] = {
    "the card": {"path": CARD},
    "the session": {"path": LOG},
    "lines of the session": {"path": LOG, "start_line": 2, "end_line": 3},
    "its archive": {"path": "session/agentscope/gym.jsonl"},
}


@pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS.keys())
async def test_no_byte_of_it_is_left(lived: ReMe, root: Path, request_: dict[str, Any]) -> None:
    assert leaks(root)
    result = await lived.forget(**request_, dry_run=False)
    assert result.success
    assert result.indexed
    assert leaks(root) == []
    assert (await lived.search("Quetzalcoatlus")).hits == []
    assert (await lived.doctor()).differences == []


async def test_nor_after_closing_and_opening_again(
    lived: ReMe, root: Path, open_memory: Callable[..., ReMe]
) -> None:
    await lived.forget(path=CARD, dry_run=False)
    await lived.close()
    assert leaks(root) == []
    async with open_memory() as again:
        assert (await again.search("gym opens at seven")).hits
        await again.reindex()
        await again.doctor(repair=True)
    assert leaks(root) == []


async def test_a_query_takes_its_statements_from_every_layer(lived: ReMe, root: Path) -> None:
    for word in SECRETS:
        await lived.forget(query=word, dry_run=False)
    assert leaks(root) == []
    assert (await lived.read(SHARED)).content.count("The gym opens at seven") == 1


async def test_the_inverted_lists_keep_no_term_that_only_it_had(lived: ReMe) -> None:
    store: Any = lived.application.components.store
    keys = {term_key(term) for word in SECRETS for term in MemoryTokenizer().query_terms(word)}
    others = {term_key(term) for term in MemoryTokenizer().query_terms("gym opens seven")}
    await lived.optimize_index()
    assert keys & _terms(store)
    await lived.forget(path=CARD, dry_run=False)
    assert not (keys - others) & _terms(store)
    assert others & _terms(store)


def _terms(store: Any) -> set[int]:
    parts = store._session.state.index.segments
    return {int(key) for segment in parts for key in segment.keys}


async def test_its_vectors_go_too(lived: ReMe) -> None:
    store: Any = lived.application.components.store
    texts = store.missing_vectors("space", 1000)
    tables = {"vectors": "space", "second_vectors": "another model"}
    for space in tables.values():
        store.put_vectors(space, {key: [1.0, 0.0] for key, _ in texts})
    secret = {bytes.fromhex(key) for key, text in texts if "zeta-4711" in text}
    assert secret
    assert all(secret < _hashes(store, table) for table in tables)
    await lived.forget(path=CARD, dry_run=False)
    for table in tables:
        left = _hashes(store, table)
        assert left
        assert secret.isdisjoint(left)
        assert left <= _hashes(store, "chunks")


async def test_what_was_paid_for_goes_too(lived: ReMe, root: Path) -> None:
    """Vectors outlive the index in a file of their own; not those of what is forgotten."""
    store: Any = lived.application.components.store
    texts = store.missing_vectors("space", 1000)
    store.put_vectors("space", {key: [1.0, 0.0] for key, _ in texts})
    secret = {key for key, text in texts if "zeta-4711" in text}
    assert store.kept_vectors("space", list(secret)).keys() == secret
    await lived.forget(path=CARD, dry_run=False)
    kept = store.kept_vectors("space", [key for key, _ in texts])
    assert kept
    assert secret.isdisjoint(kept)
    data = (root / "metadata/embeddings.db").read_bytes()
    assert not [key for key in secret if bytes.fromhex(key) in data]


def _hashes(store: Any, table: str) -> set[bytes]:
    def read() -> list[tuple[bytes]]:
        rows: list[tuple[bytes]] = store._connection.execute(
            f"SELECT text_hash FROM {table}"
        ).fetchall()
        return rows

    return {row[0] for row in store._run(read)}


async def test_other_processes_stop_finding_it(
    lived: ReMe, open_memory: Callable[..., ReMe], root: Path
) -> None:
    async with open_memory() as reader:
        assert (await reader.search("Quetzalcoatlus")).hits
        await lived.forget(path=CARD, dry_run=False)
        assert (await reader.search("Quetzalcoatlus")).hits == []
        assert (await reader.search("gym opens at seven")).hits
        await reader.write("digest/wiki/later.md", "Something later.")
        assert (await lived.search("something later")).hits
    assert leaks(root) == []


async def test_a_generation_that_was_set_aside_goes(lived: ReMe, root: Path) -> None:
    aside = root / "metadata/index-0.db.corrupt"
    aside.write_bytes(b"zeta-4711")
    (root / "metadata/index-99.db").write_bytes(b"zeta-4711")
    await lived.forget(path=CARD, dry_run=False)
    assert leaks(root) == []


async def test_a_file_is_renamed_that_is_only_named_after_it(lived: ReMe, root: Path) -> None:
    await lived.write("digest/wiki/quetzalcoatlus-trip.md", "# Trip\n\nA trip to the gym.\n")
    await lived.write(
        "digest/wiki/index.md", "See [[digest/wiki/quetzalcoatlus-trip.md|the trip]]."
    )
    result = await lived.forget(path=LOG, dry_run=False)
    assert "name" in {part.layer for part in result.parts}
    assert leaks(root) == []
    assert (await lived.read("digest/wiki/note-1.md")).content.startswith("# Trip")
    assert (
        "[[digest/wiki/note-1.md|the trip]]" in (await lived.read("digest/wiki/index.md")).content
    )


async def test_what_it_was_moved_from_goes_as_well(lived: ReMe, root: Path) -> None:
    await lived.move(NODE, "digest/personal/cupboard.md")
    await lived.edit("digest/personal/cupboard.md", "Quetzalcoatlus", "Zeta zeta-4711")
    await lived.forget(path=CARD, dry_run=False)
    assert leaks(root) == []


async def test_no_lock_is_named_after_it(lived: ReMe, root: Path) -> None:
    path = "resource/2026-06-20/zeta-4711.bin"
    place = root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(bytes(64))
    with lived.application.components.locks.claim(resource_claim(path)):
        pass
    await lived.forget(path=path, dry_run=False)
    await lived.forget(path=CARD, dry_run=False)
    assert leaks(root) == []


async def test_an_earlier_version_in_wholly_other_words_goes_too(lived: ReMe, root: Path) -> None:
    def left() -> list[Path]:
        files = (place for place in root.rglob("*") if place.is_file())
        return [place for place in files if b"Zanzibar" in place.read_bytes()]

    path = "digest/wiki/older.md"
    await lived.write(path, "Zanzibar pigeons quarrel.", name="older")
    await lived.write(path, "Completely different nowadays.", name="older")
    assert left()
    await lived.forget(path=path, dry_run=False)
    assert left() == []
