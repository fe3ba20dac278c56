"""Which files are known, in which state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from agentscope_reme.store.records import FileStamp


@dataclass(frozen=True, slots=True)
class CatalogDifference:
    """Paths by what happened to them, each sorted.

    ``suspect`` files have another time or size than the catalog knows; whether they changed is
    decided by their content hash.
    """

    added: tuple[str, ...]
    suspect: tuple[str, ...]
    missing: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.added or self.suspect or self.missing)


class FileCatalog:
    """The stamps of known files, for comparing with what is on the disk now."""

    def __init__(self, stamps: Mapping[str, FileStamp] | None = None) -> None:
        self._stamps = dict(stamps or {})

    def __len__(self) -> int:
        return len(self._stamps)

    def __contains__(self, path: object) -> bool:
        return path in self._stamps

    def get(self, path: str) -> FileStamp | None:
        """The stamp of a known file."""
        return self._stamps.get(path)

    def put(self, path: str, stamp: FileStamp) -> None:
        """Know a file in this state."""
        self._stamps[path] = stamp

    def discard(self, path: str) -> None:
        """Forget a file."""
        self._stamps.pop(path, None)

    def stamps(self) -> dict[str, FileStamp]:
        """Every known file and its stamp."""
        return dict(self._stamps)

    def unchanged(self, path: str, mtime_ns: int, size: int) -> bool:
        """The quick check: the file has the time (nanoseconds) and size (bytes) that are known."""
        stamp = self._stamps.get(path)
        return stamp is not None and (stamp.mtime_ns, stamp.size) == (mtime_ns, size)

    def compare(self, seen: Mapping[str, tuple[int, int]]) -> CatalogDifference:
        """How the disk differs from the catalog.

        Args:
            seen: ``(mtime_ns, size)`` of every file on the disk.
        """
        return CatalogDifference(
            added=tuple(sorted(p for p in seen if p not in self._stamps)),
            suspect=tuple(
                sorted(p for p, s in seen.items() if p in self and not self.unchanged(p, *s))
            ),
            missing=tuple(sorted(p for p in self._stamps if p not in seen)),
        )
