from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentscope_reme.errors import Closed
from agentscope_reme.files.changes import Delete, Write
from agentscope_reme.store.indexer import FileIndexer
from agentscope_reme.vault.vault import Vault
from tests.vault.conftest import House
from tests.vault.crash_house import open_vault

FILES = 450  # more than two transactions of a scan


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    vault = open_vault(str(tmp_path))
    for n in range(FILES):
        place = tmp_path / f"digest/wiki/{n:03}.md"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"apple number{n}", "utf-8")
    vault.index.bring_in_step()
    yield vault
    vault.close()
    vault.store.close()


@pytest.fixture
def understood(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every path that was cut into chunks from here on."""
    paths: list[str] = []
    index = FileIndexer.index

    def noting(self, path, data, *, mtime_ns):  # type: ignore[no-untyped-def]
        paths.append(path)
        return index(self, path, data, mtime_ns=mtime_ns)

    monkeypatch.setattr(FileIndexer, "index", noting)
    return paths


def found(vault: Vault, query: str) -> list[str]:
    return sorted(hit.path for hit in vault.store.keyword_search(query, limit=FILES + 9))


def current(vault: Vault) -> str:
    return (vault.workspace.metadata / "CURRENT").read_text("utf-8").strip()


def generations(vault: Vault) -> list[str]:
    return sorted(f.name for f in vault.workspace.metadata.glob("index-*.db"))


def test_it_says_the_same_and_stands_in_a_new_generation(vault: Vault) -> None:
    before = vault.store.keyword_search("apple number7", limit=5)
    assert vault.notices == []
    result = vault.index.reindex()
    assert (result.files, result.chunks, result.removed) == (FILES, FILES, 0)
    assert vault.store.keyword_search("apple number7", limit=5) == before
    assert generations(vault) == [current(vault)] == ["index-2.db"]


def test_searches_and_writes_go_on_while_it_is_built(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = FileIndexer.index
    seen: list[int] = []

    def meanwhile(self, path, data, *, mtime_ns):  # type: ignore[no-untyped-def]
        indexed = index(self, path, data, mtime_ns=mtime_ns)
        if path.endswith("300.md"):
            monkeypatch.setattr(FileIndexer, "index", index)
            seen.append(len(found(vault, "apple")))
            changes = [
                Write("digest/wiki/new.md", b"cherry"),
                Write("digest/wiki/001.md", b"quince"),
                Delete("digest/wiki/449.md"),
                Delete("digest/wiki/002.md"),
            ]
            assert vault.commit(changes, actor="a", operation="write").indexed
            seen.append(len(found(vault, "apple")))
            assert found(vault, "cherry") == ["digest/wiki/new.md"]
            assert current(vault) == "index-1.db"
        return indexed

    monkeypatch.setattr(FileIndexer, "index", meanwhile)
    vault.index.reindex()
    assert seen == [FILES, FILES - 3]
    assert current(vault) == "index-2.db"
    assert len(found(vault, "apple")) == FILES - 3
    assert found(vault, "cherry") == ["digest/wiki/new.md"]
    assert found(vault, "quince") == ["digest/wiki/001.md"]
    assert vault.scan().files == 0


def test_a_rebuild_that_was_killed_is_gone_on_with(vault: Vault, understood: list[str]) -> None:
    command = [sys.executable, "-m", "tests.vault.rebuilding_child", str(vault.workspace.root)]
    ended = subprocess.run([*command, "420"], cwd=Path(__file__).parents[2], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert current(vault) == "index-1.db"
    assert vault.store.condition().half_built
    assert len(found(vault, "apple")) == FILES
    (vault.workspace.root / "digest/wiki/000.md").write_text("quince", "utf-8")
    vault.index.resume()
    assert current(vault) == "index-2.db"
    assert understood == ["digest/wiki/000.md", *(f"digest/wiki/{n}.md" for n in range(400, 450))]
    assert len(found(vault, "apple")) == FILES - 1
    assert found(vault, "quince") == ["digest/wiki/000.md"]
    assert not vault.store.condition().half_built


def test_a_rebuild_ends_when_the_vault_is_closed(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = FileIndexer.index

    def closing(self, path, data, *, mtime_ns):  # type: ignore[no-untyped-def]
        if path.endswith("210.md"):
            vault.close()
        return index(self, path, data, mtime_ns=mtime_ns)

    monkeypatch.setattr(FileIndexer, "index", closing)
    with pytest.raises(Closed):
        vault.index.reindex()
    assert current(vault) == "index-1.db"
    assert vault.store.condition().half_built
    monkeypatch.setattr(FileIndexer, "index", index)
    vault.open()
    assert vault.index.resume().files == FILES
    assert current(vault) == "index-2.db"


def test_one_layer_is_compared_in_place(vault: Vault) -> None:
    (vault.workspace.root / "digest/wiki/000.md").write_text("quince number0", "utf-8")
    assert vault.index.reindex("daily").files == 0
    assert vault.index.reindex("digest").files == 1
    assert current(vault) == "index-1.db"
    assert found(vault, "quince") == ["digest/wiki/000.md"]


def test_reindexing_confirms_that_files_are_gone(vault: Vault) -> None:
    for n in range(300):
        (vault.workspace.root / f"digest/wiki/{n:03}.md").unlink()
    assert vault.scan().removed == 0
    assert len(vault.notices) == 1
    assert vault.index.reindex().removed == 300
    assert vault.notices == []
    assert len(found(vault, "apple")) == FILES - 300


def test_no_rebuild_by_itself_while_a_drive_is_missing(vault: Vault, tmp_path: Path) -> None:
    shadow = vault.store.shadow()
    assert shadow is not None
    shadow.close()
    (tmp_path / "digest").rename(tmp_path / "users")
    assert [failure.item for failure in vault.index.resume().failed] == ["digest"]
    assert len(found(vault, "apple")) == FILES
    (tmp_path / "users").rename(tmp_path / "digest")
    vault.index.resume()
    assert vault.notices == []
    assert current(vault) == "index-2.db"


def test_files_that_come_back_one_by_one_end_the_notice(vault: Vault, tmp_path: Path) -> None:
    (tmp_path / "digest").rename(tmp_path / "users")
    vault.scan()
    (tmp_path / "users").rename(tmp_path / "digest")
    away = tmp_path / "users"
    away.mkdir()
    for n in range(300):
        (tmp_path / f"digest/wiki/{n:03}.md").rename(away / f"{n:03}.md")
    vault.apply_foreign(["digest/wiki/400.md"])
    assert "300 of 450" in vault.notices[0]
    for n in range(300):
        (away / f"{n:03}.md").rename(tmp_path / f"digest/wiki/{n:03}.md")
    vault.apply_foreign(["digest/wiki/000.md"])
    assert vault.notices == []
    assert len(found(vault, "apple")) == FILES


def test_a_store_without_shadows_is_compared_in_place(house: House) -> None:
    house.put("a.md", "one")
    assert house.vault.index.reindex().files == 1
    assert house.store.nodes()[0].path == "a.md"
