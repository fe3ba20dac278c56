"""A burst of changed paths costs what its paths cost, not paths times files."""

from __future__ import annotations

from collections.abc import Iterator

from agentscope_reme.results import Failure
from agentscope_reme.store.records import FileStamp
from tests.vault.conftest import House


class Counted(dict[str, FileStamp]):
    """Counts how often somebody goes through all of it."""

    walks = 0

    def __iter__(self) -> Iterator[str]:
        self.walks += 1
        return super().__iter__()


def counted_stamps(house: House) -> list[Counted]:
    asked: list[Counted] = []
    stamps = house.store.stamps

    def count() -> dict[str, FileStamp]:
        asked.append(Counted(stamps()))
        return asked[-1]

    house.store.stamps = count  # type: ignore[method-assign]
    return asked


def test_the_index_is_gone_through_a_fixed_number_of_times(house: House) -> None:
    paths = [f"resource/2026-01-01/n{n}.md" for n in range(200)]
    for path in paths:
        house.put(path, path)
    house.vault.apply_foreign(paths)
    asked = counted_stamps(house)
    house.vault.apply_foreign(paths)
    house.vault.apply_foreign(["resource"])
    assert len(asked) == 2
    assert max(stamps.walks for stamps in asked) <= 4


def test_a_folder_that_went_takes_its_files_and_no_neighbours_along(house: House) -> None:
    for path in ("daily/a/x.md", "daily/a/b/y.md", "daily/a.md", "daily/a-b.md", "daily/a0/z.md"):
        house.put(path, path)
    house.vault.scan()
    for path in ("daily/a/x.md", "daily/a/b/y.md"):
        (house.root / path).unlink()
    (house.root / "daily/a/b").rmdir()
    (house.root / "daily/a").rmdir()
    assert house.vault.apply_foreign(["daily/a"]).removed == 2
    assert [n.path for n in house.store.nodes()] == ["daily/a-b.md", "daily/a.md", "daily/a0/z.md"]


def test_files_of_a_folder_that_cannot_be_listed_stay_indexed(house: House) -> None:
    for path in ("daily/a/x.md", "daily/b.md"):
        house.put(path, path)
    house.vault.scan()
    walk = house.vault._tree.walk
    (house.root / "daily/b.md").unlink()
    (house.root / "daily/a/x.md").rename(house.root / "x.md")

    def blind(prefix: str = "") -> object:
        found, _ = walk(prefix)
        return found, [Failure(item="daily/a", reason="cannot be listed")]

    house.vault._tree.walk = blind  # type: ignore[method-assign, assignment]
    house.vault.scan()
    assert [n.path for n in house.store.nodes()] == ["daily/a/x.md", "x.md"]
