"""Which file a link of an Obsidian vault means: by path, or by name wherever the file stands."""

from __future__ import annotations

import posixpath
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

_NOTE: Final = ".md"


def same_name(path: str) -> str:
    """What is equal where people and disks see one name: no case, accents in one piece."""
    return unicodedata.normalize("NFC", path).casefold()


@dataclass(frozen=True, slots=True)
class Meant:
    """What a link leads to; ``others`` are further files of that name."""

    path: str
    others: tuple[str, ...] = ()


class VaultLinks:
    """Finds the file a link means.

    Args:
        paths: every file of the vault, relative to its root.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        self._by_path = {same_name(path): path for path in paths}
        self._by_name: defaultdict[str, list[str]] = defaultdict(list)
        for path in self._by_path.values():
            self._by_name[posixpath.basename(same_name(path))].append(path)

    def meant(self, target: str, source: str) -> Meant | None:
        """The file `target` means in the note `source`; ``None`` when there is none.

        A path from the root of the vault or from the note's folder comes first, then a file of
        that name or ending anywhere: beside the note, then nearest to the root.
        """
        wanted = target.strip().strip("/")
        here = posixpath.dirname(source)
        for name in (wanted + _NOTE, wanted):
            for path in (name, posixpath.normpath(posixpath.join(here, name))):
                found = self._by_path.get(same_name(path))
                if found is not None:
                    return Meant(found)
        return self._by_ending(wanted, here)

    def _by_ending(self, wanted: str, here: str) -> Meant | None:
        for name in (wanted + _NOTE, wanted):
            ending = f"/{same_name(name)}"
            named = self._by_name.get(posixpath.basename(same_name(name)), ())
            fitting = [path for path in named if f"/{same_name(path)}".endswith(ending)]
            if fitting:
                first, *others = sorted(fitting, key=lambda path: _distance(path, here))
                return Meant(first, tuple(others))
        return None


def _distance(path: str, here: str) -> tuple[bool, int, str]:
    return posixpath.dirname(path) != here, path.count("/"), path
