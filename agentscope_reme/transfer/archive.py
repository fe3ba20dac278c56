"""A whole memory as one ZIP archive, and a memory made of such an archive.

The archive holds the files under their own names, so any tool opens it, and, with the SHA-256 of
each, ``agentscope-reme.json``. Derived data, locks and the memories of users are not in it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import shutil
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Final, Literal

from pydantic import BaseModel, ValidationError

from agentscope_reme.errors import BadInput, StorageFailed
from agentscope_reme.files.disk import Disk, is_temporary_of
from agentscope_reme.progress import followed
from agentscope_reme.transfer.sources import ZipSource
from agentscope_reme.workspace import Workspace

MANIFEST: Final = "agentscope-reme.json"
NEVER_PACKED: Final = frozenset({"metadata", ".locks", "users", "typed"})
"""Top folders no archive holds: derived data, locks, the memories of others, and the database of
typed memories, which stands in no file that could be copied while it is open;
`VectorReMe.export_markdown` makes files of it."""
_PIECE: Final = 1024**2
_LOGS: Final = ".jsonl"
_FOLDER_MODE: Final = 0o700

Reading = tuple[Path, int]
"""Where a file is read from, and how many of its bytes."""


class Entry(BaseModel):
    """One file of an archive."""

    sha256: str
    size: int


class Manifest(BaseModel):
    """What an archive holds.

    Attributes:
        format: the version of this layout.
        created: when it was made, ISO 8601.
        files: by path.
    """

    format: Literal[1] = 1
    created: str
    files: dict[str, Entry]


def write_archive(files: Mapping[str, Reading], target: Path, created: str) -> Manifest:
    """Pack files into a new archive; it appears under its name when it is whole and durable.

    Args:
        files: where each path of the archive is read from, and how many bytes.
        target: the archive.
        created: when the files stood like this, ISO 8601.

    Raises:
        StorageFailed: the disk refused; there is no archive.
    """
    _sweep(target)
    unfinished = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    entries: dict[str, Entry] = {}
    try:
        with unfinished.open("xb") as raw:
            os.chmod(unfinished, 0o600)
            with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive:
                for path in followed(sorted(files), "files"):
                    entries[path] = _pack(archive, path, *files[path])
                manifest = Manifest(created=created, files=entries)
                archive.writestr(MANIFEST, manifest.model_dump_json(indent=1))
            raw.flush()
            os.fsync(raw.fileno())
        Disk().publish(unfinished, target)
    except OSError as error:
        raise StorageFailed(
            str(target),
            f"the archive cannot be written: {error.strerror or error}",
            "Choose another place.",
        ) from error
    finally:
        unfinished.unlink(missing_ok=True)
    return manifest


def is_archive(place: Path) -> bool:
    """Whether a file is an archive of this library."""
    try:
        with zipfile.ZipFile(place) as archive:
            return MANIFEST in archive.namelist()
    except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError):
        return False


def restore_archive(place: Path, workspace: Workspace) -> Manifest:
    """Make a memory of an archive, byte for byte; wholly or not at all.

    Args:
        place: the archive.
        workspace: nothing may stand there yet.

    Raises:
        BadInput: the archive is damaged or not ours, or something stands there.
        StorageFailed: the disk refused; nothing is there.
    """
    refuse_occupied(workspace)
    with ZipSource(place) as source, _staging(workspace.root) as staging:
        manifest = _manifest(source)
        for path in followed(sorted(manifest.files), "files"):
            _unpack(source, path, manifest.files[path], staging / _checked(path))
        with contextlib.suppress(FileNotFoundError):
            workspace.root.rmdir()
        disk = Disk()
        disk.flush_folders([staging, *(p for p in staging.rglob("*") if p.is_dir())])
        disk.rename(staging, workspace.root)
    return manifest


def refuse_occupied(workspace: Workspace) -> None:
    """Refuse a place where something stands.

    Raises:
        BadInput: something does.
    """
    if os.path.lexists(workspace.root) and not is_free(workspace):
        raise BadInput(
            str(workspace.root),
            "a memory is made of an archive where nothing stands yet",
            "Name a new folder with workspace_dir=.",
        )


def is_free(workspace: Workspace) -> bool:
    """Whether nothing stands where a workspace would be."""
    root = workspace.root
    return not os.path.lexists(root) or (root.is_dir() and not any(root.iterdir()))


def _pack(archive: zipfile.ZipFile, path: str, place: Path, size: int) -> Entry:
    """Add the first `size` bytes of a file; of a log, the whole lines among them."""
    digest = hashlib.sha256()
    info = zipfile.ZipInfo.from_file(place, path, strict_timestamps=False)
    info.compress_type = zipfile.ZIP_DEFLATED
    with place.open("rb") as file, archive.open(info, "w", force_zip64=True) as packed:
        if path.endswith(_LOGS):
            size = _whole_lines(file, size)
        left = size
        while piece := file.read(min(_PIECE, left)):
            packed.write(piece)
            digest.update(piece)
            left -= len(piece)
    return Entry(sha256=digest.hexdigest(), size=size - left)


def _whole_lines(file: IO[bytes], size: int) -> int:
    """How many of the first bytes stand before the last line end; all when there is none."""
    at = size
    while at > 0:
        start = max(0, at - _PIECE)
        file.seek(start)
        found = file.read(at - start).rfind(b"\n")
        if found >= 0:
            size = start + found + 1
            break
        at = start
    file.seek(0)
    return size


def _manifest(source: ZipSource) -> Manifest:
    try:
        manifest = Manifest.model_validate(source.json(MANIFEST))
    except (KeyError, ValidationError) as error:
        raise BadInput(
            str(source.place), f"not an archive of this library: {error}", "Export it again."
        ) from error
    missing = sorted(set(manifest.files) - set(source.every_name()))
    if missing:
        raise BadInput(missing[0], "the archive lacks a file it names", "Export it again.")
    return manifest


def _checked(path: str) -> Path:
    """The path, if it is one an export writes.

    Raises:
        BadInput: it leads out, is hidden, or belongs to what no export takes along.
    """
    parts = path.split("/")
    hidden = any(part.startswith(".") or not part for part in parts)
    if hidden or not {"\\", "\0"}.isdisjoint(path) or parts[0].casefold() in NEVER_PACKED:
        raise BadInput(path, "no export writes this path", "Do not trust this archive.")
    return Path(*parts)


def _unpack(source: ZipSource, path: str, entry: Entry, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    digest, size = hashlib.sha256(), 0
    with source.reading(path) as packed, place.open("xb") as file:
        while piece := packed.read(_PIECE):
            size += len(piece)
            if size > entry.size:
                break
            digest.update(piece)
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())
    if (digest.hexdigest(), size) != (entry.sha256, entry.size):
        raise BadInput(path, "the archive is damaged there", "Take another copy of it.")


@contextlib.contextmanager
def _staging(root: Path) -> Iterator[Path]:
    """A folder beside the workspace-to-be; gone afterwards unless it was renamed.

    Raises:
        StorageFailed: the disk refused.
    """
    _sweep(root)
    staging = root.with_name(f".{root.name}.{secrets.token_hex(8)}.tmp")
    try:
        staging.mkdir(parents=True, mode=_FOLDER_MODE)
        yield staging
    except OSError as error:
        raise StorageFailed(
            str(root),
            f"the memory cannot be made there: {error.strerror or error}",
            "Choose another folder.",
        ) from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _sweep(place: Path) -> None:
    """Remove what processes that died left beside a place they were making."""
    with contextlib.suppress(OSError):
        for other in [
            one for one in place.parent.iterdir() if is_temporary_of(one.name, place.name)
        ]:
            if other.is_dir():
                shutil.rmtree(other, ignore_errors=True)
            else:
                other.unlink()
