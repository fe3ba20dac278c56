"""What is brought in, read alike from a folder, a ZIP archive or a single file."""

from __future__ import annotations

import json
import os
import re
import stat
import struct
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final, Self

from agentscope_reme.errors import BadInput, StorageFailed
from agentscope_reme.workspace import PERMANENT_FOLDERS

_LARGEST_FILE_BYTES: Final = 2 * 1024**3
_LARGEST_DOCUMENT_BYTES: Final = 1024**3
"""JSON is read whole; an export of ten years of daily conversations stays far below that."""
_LARGEST_ARCHIVE_BYTES: Final = 16 * 1024**3
"""All files of an archive together; who has more unpacks it first, and sees what comes."""
_FREE_OF_DOUBT_BYTES: Final = 100 * 1024**2
_MOST_TIMES: Final = 200
"""How many times its own size an archive may hold, beyond the first 100 MiB. Logs and notes pack to
a tenth, the most alike to a fiftieth; DEFLATE reaches 1032, files that lie on each other more."""
_HIDDEN: Final = "."
_FORKS: Final = "__MACOSX"
"""Where a Mac packs what it knows about files; none of them is one a person made."""
_DRIVE: Final = re.compile(r"[A-Za-z]:/")
_PACKED: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_UTF8: Final = 0x800
"""The flag by which a ZIP archive says that a name is UTF-8."""
_DAMAGE: Final = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    RuntimeError,
    NotImplementedError,
    UnicodeDecodeError,
)


class Source(ABC):
    """Named files to read; names are POSIX, relative, and never lead out.

    Attributes:
        place: where it is.
    """

    def __init__(self, place: Path) -> None:
        self.place: Final = place
        self._parsed: tuple[str, Any] | None = None  # the last document: telling formats reads it

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def name(self) -> str:
        """What to call it: the name of the folder or file, without the ending of an archive."""
        return self.place.stem if isinstance(self, ZipSource) else self.place.name

    @abstractmethod
    def names(self) -> list[str]:
        """The files, sorted; hidden ones and links are left out."""

    @property
    def top_folder(self) -> str:
        """The one folder an archive packs everything into, with a slash; or empty."""
        return ""

    @abstractmethod
    def size(self, name: str) -> int:
        """How many bytes a file has."""

    def read(self, name: str) -> bytes:
        """The bytes of a file.

        Raises:
            BadInput: it is too large to be read, or the archive is damaged there.
            StorageFailed: it cannot be read.
        """
        if (size := self.size(name)) > _LARGEST_FILE_BYTES:
            raise BadInput(name, f"the file has {size} bytes", "Leave it out of what is imported.")
        return self._read(name)

    def json(self, name: str) -> Any:
        """The value a JSON file holds.

        Raises:
            BadInput: it is too large, no UTF-8 or no JSON.
        """
        if self._parsed is not None and self._parsed[0] == name:
            return self._parsed[1]
        if (size := self.size(name)) > _LARGEST_DOCUMENT_BYTES:
            raise BadInput(name, f"the document has {size} bytes", "Split it into several files.")
        try:
            value = json.loads(self.read(name).decode("utf-8-sig"))
        except (ValueError, RecursionError) as error:
            raise BadInput(
                name, f"not a JSON document: {error}", "Export it again, or pass another format=."
            ) from error
        self._parsed = (name, value)
        return value

    def close(self) -> None:
        """Let go of it."""
        return

    @abstractmethod
    def _read(self, name: str) -> bytes: ...


class FolderSource(Source):
    """The files below a folder."""

    def names(self) -> list[str]:
        """The files, sorted; hidden ones and links are left out."""
        found: list[str] = []
        for folder, folders, files in os.walk(self.place, onerror=_told):
            here = Path(folder)
            folders[:] = [f for f in folders if not _is_passed_over(here / f)]
            places = (here / file for file in files)
            found += [
                place.relative_to(self.place).as_posix()
                for place in places
                if not _is_passed_over(place) and place.is_file()
            ]
        return sorted(found)

    def size(self, name: str) -> int:
        """How many bytes a file has."""
        return _size_of(self.place / name)

    def _read(self, name: str) -> bytes:
        return _bytes_of(self.place / name)


class FileSource(Source):
    """One file; its name is its own."""

    def names(self) -> list[str]:
        """That one name."""
        return [self.place.name]

    def size(self, name: str) -> int:
        """How many bytes the file has."""
        return _size_of(self.place)

    def _read(self, name: str) -> bytes:
        return _bytes_of(self.place)


class ZipSource(Source):
    """The files of a ZIP archive.

    Raises:
        BadInput: it is damaged, holds far more than its size, or a name in it leads out.
    """

    def __init__(self, place: Path) -> None:
        super().__init__(place)
        try:
            self._archive = zipfile.ZipFile(place)
        except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError) as error:
            raise BadInput(
                str(place), f"not a ZIP archive that can be read: {error}", "Export it again."
            ) from error
        self._files: dict[str, zipfile.ZipInfo] = {}
        self._twice: set[str] = set()
        try:
            self._take(self._archive.infolist())
        except BadInput:
            self.close()
            raise

    def names(self) -> list[str]:
        """The files, sorted; hidden ones and links are left out."""
        return sorted(
            name
            for name, info in self._files.items()
            if not stat.S_ISLNK(info.external_attr >> 16)
            and not _has_hidden_part(name.removeprefix(self._hidden_top))
        )

    @cached_property
    def top_folder(self) -> str:
        """The one folder everything is packed into, with a slash; or empty."""
        tops = {name.partition("/")[0] if "/" in name else "" for name in self.names()}
        only = tops.pop() if len(tops) == 1 else ""
        return f"{only}/" if only and only not in PERMANENT_FOLDERS else ""

    def every_name(self) -> list[str]:
        """The files, hidden ones included."""
        return list(self._files)

    @contextmanager
    def reading(self, name: str) -> Iterator[IO[bytes]]:
        """A file, to be read piece by piece.

        Raises:
            BadInput: the archive is damaged or encrypted there, packed in a rare way, or holds
                two different files of this name.
        """
        info = self._files[name]
        if name in self._twice:
            raise BadInput(
                name, "the archive holds two files of this name", "Unpack it, keep one of them."
            )
        if info.compress_type not in _PACKED:
            raise BadInput(name, "it is packed in a rare way", "Pack it as an ordinary ZIP.")
        with _damage_told(name), self._archive.open(info) as file:
            yield file

    def size(self, name: str) -> int:
        """How many bytes a file has, as the archive says; reading stops there."""
        return self._files[name].file_size

    def close(self) -> None:
        """Close the archive."""
        self._archive.close()

    def _read(self, name: str) -> bytes:
        with self.reading(name) as file:
            return file.read()

    @cached_property
    def _hidden_top(self) -> str:
        """The hidden folder, with a slash, that holds all others: ``.reme`` packed as it is."""
        tops = {name.partition("/")[0] if "/" in name else "" for name in self._files} - {_FORKS}
        only = tops.pop() if len(tops) == 1 else ""
        return f"{only}/" if only.startswith(_HIDDEN) else ""

    def _take(self, infos: Sequence[zipfile.ZipInfo]) -> None:
        for raw, info in _named(infos):
            if raw.endswith("/"):
                continue
            name = _inside(raw)
            other = self._files.get(name)
            if other is not None and (other.CRC, other.file_size) != (info.CRC, info.file_size):
                self._twice.add(name)
            self._files[name] = info
        self._refuse_bomb(sum(info.file_size for info in infos))

    def _refuse_bomb(self, size: int) -> None:
        packed = max(1, _size_of(self.place))
        is_swollen = size > max(_FREE_OF_DOUBT_BYTES, _MOST_TIMES * packed)
        if size > _LARGEST_ARCHIVE_BYTES or is_swollen:
            raise BadInput(
                str(self.place),
                f"its files have {size:,} bytes, {size // packed:,} times what it has itself",
                "Unpack it elsewhere, look at it, and pass the folder.",
            )


def _named(infos: Sequence[zipfile.ZipInfo]) -> Iterator[tuple[str, zipfile.ZipInfo]]:
    """The files with their names; those of no stated encoding are UTF-8 on a Mac, GBK in China."""
    unstated: dict[str, bytes] = {}
    for info in infos:
        if not info.flag_bits & _UTF8:
            with suppress(UnicodeEncodeError):  # a field beside it has stated the name
                unstated[info.filename] = info.filename.encode("cp437")
    read: dict[str, str] = {}
    for encoding in ("utf-8", "gb18030"):
        with suppress(UnicodeDecodeError):
            read = {name: raw.decode(encoding) for name, raw in unstated.items()}
            break
    for info in infos:
        yield read.get(info.filename, info.filename), info


def _inside(name: str) -> str:
    """The name without steps on the spot.

    Raises:
        BadInput: it leads out of the archive.
    """
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if name.startswith("/") or _DRIVE.match(name) or "\\" in name or ".." in parts:
        raise BadInput(name, "a name in the archive leads out of it", "Do not trust this archive.")
    return "/".join(parts)


def _has_hidden_part(name: str) -> bool:
    return any(part.startswith(_HIDDEN) or part == _FORKS for part in name.split("/"))


def open_source(path: str | os.PathLike[str]) -> Source:
    """Open a folder, a ZIP archive or a file.

    Raises:
        BadInput: nothing stands there, or the archive cannot be read.
    """
    if not os.fspath(path):
        raise BadInput(path, "nothing is named", "Pass a file or a folder.")
    place = Path(path).expanduser()
    if place.is_dir():
        return FolderSource(place.resolve())
    if not place.is_file():
        raise BadInput(str(path), "nothing to import stands there", "Pass a file or a folder.")
    if zipfile.is_zipfile(place):
        return ZipSource(place)
    return FileSource(place)


def is_vault(source: Source) -> bool:
    """Whether Obsidian has opened it: it leaves a folder of its own there."""
    if isinstance(source, ZipSource):
        own = f"{source.top_folder}.obsidian/"
        return any(name.startswith(own) for name in source.every_name())
    return isinstance(source, FolderSource) and (source.place / ".obsidian").is_dir()


@contextmanager
def _damage_told(name: str) -> Iterator[None]:
    """Say in our words what `zipfile` raises: RuntimeError is for a missing password."""
    try:
        yield
    except _DAMAGE as error:
        raise BadInput(
            name, f"the archive is damaged or encrypted there: {error}", "Export it again."
        ) from error


def _is_passed_over(place: Path) -> bool:
    return _has_hidden_part(place.name) or place.is_symlink()


def _size_of(place: Path) -> int:
    try:
        return place.stat().st_size
    except OSError as error:
        raise _told(error) from error


def _bytes_of(place: Path) -> bytes:
    try:
        return place.read_bytes()
    except OSError as error:
        raise _told(error) from error


def _told(error: OSError) -> StorageFailed:
    raise StorageFailed(
        error.filename, f"it cannot be read: {error.strerror}", "Fix the permissions, try again."
    ) from error
