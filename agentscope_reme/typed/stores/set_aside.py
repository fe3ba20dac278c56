"""Damaged files beside the one in use, and what became of the memories in them."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from agentscope_reme.files.disk import Disk

_PARTS: Final = ("", "-wal", "-shm")


@dataclass(frozen=True, slots=True)
class Salvage:
    """What became of the memories in a damaged file.

    Attributes:
        saved: nodes that could be read; each is in the new file, or a newer one of its id.
        lost: nodes the file still names, that could not be read. There may have been others, of
            which nothing is left; how many is not known.
    """

    saved: int
    lost: int

    def __str__(self) -> str:
        lost = f"{self.lost} more are known to be lost" if self.lost else "none is known to be lost"
        return f"{self.saved} memories were saved, {lost}, and it may have held others"


class SetAside:
    """The damaged files of one database, named after it and numbered.

    Its owner holds a lock while it moves files.

    Args:
        place: the file in use.
        disk: moves files durably.
    """

    def __init__(self, place: Path, disk: Disk) -> None:
        self._place: Final = place
        self._disk: Final = disk

    @property
    def files(self) -> list[Path]:
        """Those that are there, oldest first."""
        found = self._place.parent.glob(f"{self._place.name}.damaged-*")
        numbered = [(int(n), p) for p in found if (n := p.name.rpartition("-")[2]).isdigit()]
        return [place for _, place in sorted(numbered)]

    @property
    def unread(self) -> list[Path]:
        """Those whose memories have not been brought over yet."""
        return [place for place in self.files if self.note_of(place) is None]

    def move(self) -> Path:
        """Set the file in use aside, with its log, under a name of its own."""
        number = 1
        while (aside := self._named(number)).exists():
            number += 1
        for stale in ("-wal", "-shm", ".salvaged"):  # of one that somebody took away
            aside.with_name(aside.name + stale).unlink(missing_ok=True)
        self._move_parts(_PARTS, aside)
        return aside

    def finish(self) -> None:
        """Move the log of a file that was set aside when its process was killed."""
        for aside in self.unread[-1:]:
            if not self._place.exists() and not _beside(aside, "-wal").exists():
                self._move_parts(_PARTS[1:], aside)

    def note(self, damaged: Path, salvage: Salvage) -> None:
        """Write down that a file has been read, so that it never is again."""
        self._disk.replace(_beside(damaged, ".salvaged"), json.dumps(asdict(salvage)).encode())

    def note_of(self, damaged: Path) -> Salvage | None:
        """What became of a file; ``None`` when it has not been read yet."""
        try:
            return Salvage(**json.loads(_beside(damaged, ".salvaged").read_bytes()))
        except (FileNotFoundError, ValueError, TypeError):  # a note that somebody broke is none
            return None

    def _named(self, number: int) -> Path:
        return _beside(self._place, f".damaged-{number}")

    def _move_parts(self, parts: tuple[str, ...], aside: Path) -> None:
        for part in parts:
            old = _beside(self._place, part)
            if old.exists():
                self._disk.rename(old, _beside(aside, part))


def _beside(place: Path, ending: str) -> Path:
    return place.with_name(place.name + ending)
