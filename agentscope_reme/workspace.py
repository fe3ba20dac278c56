"""Where things live in a workspace, and which paths are safe.

Every path that enters the library passes `Workspace.normalise`; every path that reaches the disk
passes `Workspace.locate`, which also refuses symlinks that lead out, to hidden files or into the
library's own folders. Other symlinks can be named: what is read, changed and indexed is the file
under its real path. Whoever looks around (lists, scans, the watcher) passes symlinks over.
"""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from functools import lru_cache
from pathlib import Path
from string import ascii_letters, digits
from typing import Final
from urllib.parse import unquote

from agentscope_reme.errors import BadInput, BadPath, StorageFailed

INTERNAL_FOLDERS: Final = frozenset({"metadata", "journal", "trash", "typed", "users", ".locks"})
"""Folders the library keeps for itself; no path of a caller may point into them."""

LAYERS: Final = ("daily", "digest", "session", "resource")
"""The folders of the memory-as-file layout, in the order search prefers them."""

PERMANENT_FOLDERS: Final = frozenset({*LAYERS, "memory"}) | INTERNAL_FOLDERS
"""Top-level folders that cannot be deleted or moved."""

MARKDOWN_SUFFIXES: Final = frozenset({".md", ".markdown"})
"""Files that have front matter, sections and links of their own; logs and data are evidence."""

PICTURE_SUFFIXES: Final = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp"})
"""Pictures of the kinds models are shown."""

DIGEST_BUCKETS: Final = ("personal", "procedure", "wiki")

_DEVICE_NAMES: Final = frozenset(
    {"con", "prn", "aux", "nul"} | {f"{d}{n}" for d in ("com", "lpt") for n in "123456789"}
)
_FORBIDDEN: Final = re.compile(r'[<>:"|?*\\\x00-\x1f\x7f]')
_PLAIN: Final = frozenset(f"{ascii_letters}{digits}_-.")
LONGEST_PLAIN_NAME: Final = "n" * 64
"""No name that `is_plain` is longer."""
_LONGEST_COMPONENT_BYTES: Final = 255
_LONGEST_PATH_BYTES: Final = 1024
_LONGEST_ENCODED_BYTES: Final = 120
_WAY_OUT: Final = "Use a path relative to the workspace, such as 'daily/2026-06-20/topic.md'."


class Workspace:
    """One memory folder: its layout and its boundary.

    Args:
        root: the folder; made absolute and symlink-resolved once, here.
        user: opens ``users/<encoded user>/`` inside `root`, a whole workspace of its own. A name
            that differs only by case from one that came first gets a folder with a hash.

    Raises:
        BadInput: the root is no path, or the user name is no text, empty or made of dots.
    """

    def __init__(self, root: str | os.PathLike[str], *, user: str | None = None) -> None:
        if not isinstance(root, str | os.PathLike) or os.fspath(root) == "" or "\0" in str(root):
            raise BadInput(root, "the workspace is no folder's path", "Pass a path, as text.")
        if not isinstance(user, str | None):
            raise BadInput(user, "the user name is no text", "Pass a name.")
        base = absolute(root)
        if user is not None:
            base = base / "users" / _user_folder(base / "users", user)
        self.root: Final = base
        self.user: Final = user

    def __repr__(self) -> str:
        return f"Workspace({str(self.root)!r})"

    @property
    def metadata(self) -> Path:
        """Derived data: deleting it loses nothing but time."""
        return self.root / "metadata"

    @property
    def journal(self) -> Path:
        """What changed, with pre-images."""
        return self.root / "journal"

    @property
    def trash(self) -> Path:
        """Deleted files, restored by `undo`."""
        return self.root / "trash"

    @property
    def locks(self) -> Path:
        """Lock files; outside ``metadata/``, which may be deleted at any time."""
        return self.root / ".locks"

    def create(self) -> None:
        """Make the layer folders; existing ones are left alone.

        Raises:
            StorageFailed: the operating system refused.
        """
        try:
            for name in (*LAYERS, "journal", ".locks"):
                (self.root / name).mkdir(parents=True, exist_ok=True)
            if not os.path.lexists(
                self.metadata
            ):  # whatever else stands there the index sets aside
                self.metadata.mkdir(exist_ok=True)
        except OSError as error:
            raise StorageFailed(
                str(self.root),
                f"the workspace cannot be made: {error}",
                "Choose a folder that can be written.",
            ) from error

    def require(self) -> None:
        """Make sure the workspace is still there: nothing but `create` ever makes one.

        Raises:
            StorageFailed: its folder is gone, or empty as where a drive is not mounted.
        """
        if not (self.journal.is_dir() or self.locks.is_dir()):
            raise StorageFailed(
                str(self.root),
                "the workspace folder is missing",
                "Mount the drive it is on, or open the memory again to start a new one.",
            )

    def normalise(self, path: str, *, what: str = "path") -> str:
        """The one spelling of a workspace-relative path.

        Blanks around it, ``./`` and doubled slashes are dropped; so is the workspace's own address
        in a ``file://`` URL, the form in which AgentScope 2.x names attachments.

        Raises:
            BadPath: it is empty, absolute, climbs out, names a device, an internal folder or a
                hidden file, contains characters no file system takes, or is too long.
        """
        if not isinstance(path, str):
            raise BadPath(path, f"{what} must be text", _WAY_OUT)
        text = self._without_own_address(path.strip())
        _refuse_unsafe_text(path, text, what)
        parts = [part for part in text.split("/") if part not in ("", ".")]
        if not parts:
            raise BadPath(path, f"{what} names no file", _WAY_OUT)
        for part in parts:
            _refuse_unsafe_component(path, part)
        if parts[0].casefold() in INTERNAL_FOLDERS:
            raise BadPath(path, f"`{parts[0]}/` is kept by the library itself", _WAY_OUT)
        return "/".join(parts)

    def _without_own_address(self, text: str) -> str:
        if not text.startswith("file://"):
            return text
        own = self.root.as_uri() + "/"
        return unquote(text.removeprefix(own)) if text.startswith(own) else text

    def locate(self, path: str) -> Path:
        """The absolute place of a path, existing or not.

        Raises:
            BadPath: see `normalise`; or a symlink on the way leads where no path may.
        """
        return self.locate_normalised(self.normalise(path))

    def locate_normalised(self, path: str) -> Path:
        """`locate` for a path that `normalise` already returned, or an internal one."""
        self.real(path)
        return self.root / path

    def real(self, path: str) -> str:
        """The path a file is known by: a normalised one with every symlink on it followed.

        Raises:
            BadPath: a symlink leads out of the workspace, to a hidden file or into a folder the
                library keeps for itself.
        """
        if not _may_lead_elsewhere(str(self.root), path):
            return path
        place = os.path.realpath(self.root / path)
        if place == os.path.join(self.root, path):
            return path
        found = self.relative(Path(place))
        if found is None:
            raise BadPath(path, "a symlink on this path leaves the workspace", _WAY_OUT)
        if path.split("/", 1)[0] in INTERNAL_FOLDERS:
            return found
        try:
            return self.normalise(found)
        except BadPath as error:
            reason = f"a symlink on this path leads to {found!r}, where no path may lead"
            raise BadPath(path, reason, _WAY_OUT) from error

    def relative(self, place: Path) -> str | None:
        """The workspace-relative spelling of an absolute path; ``None`` when it is outside."""
        try:
            return place.relative_to(self.root).as_posix()
        except ValueError:
            return None


def absolute(place: str | os.PathLike[str]) -> Path:
    """A folder a caller names, with ``~`` and symlinks resolved.

    Raises:
        BadInput: no folder can have this name, or its owner has no home here.
    """
    try:
        return Path(place).expanduser().resolve()
    except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: ``~nobody``, a loop
        raise BadInput(place, f"this is no folder's path: {error}", "Pass another one.") from error


def _may_lead_elsewhere(root: str, path: str) -> bool:
    """Whether a path has to be followed from the root of the disk on.

    Every file is asked for several times, and hardly one stands behind a symlink. The root was
    followed when the workspace was opened. Windows has more kinds of links than symlinks.
    """
    parts = path.split("/")
    if os.name == "nt" or not {"", ".", ".."}.isdisjoint(parts):
        return True
    place = root
    for part in parts:
        place = f"{place}/{part}"
        if os.path.islink(place):
            return True
    return False


def is_plain(name: str) -> bool:
    """Whether a file name is so ordinary that `Workspace.normalise` has nothing to say of it.

    For walks over thousands of files: most names are, and the others are looked at in full.
    """
    return (
        _PLAIN.issuperset(name)
        and len(name) <= len(LONGEST_PLAIN_NAME)
        and not name.startswith(".")
        and not name.endswith(".")
        and name.partition(".")[0].casefold() not in _DEVICE_NAMES
    )


def is_hidden(path: str) -> bool:
    """Whether a normalised path names a hidden file, or one in a hidden folder."""
    return path.startswith(".") or "/." in path


def is_markdown(path: str) -> bool:
    """Whether a file of this name is read as Markdown, has links, and is rewritten with them."""
    return path.lower().endswith(tuple(MARKDOWN_SUFFIXES))


def is_picture(path: str) -> bool:
    """Whether a path names a picture of a kind models are shown."""
    return path.lower().endswith(tuple(PICTURE_SUFFIXES))


def refuse_permanent(path: str) -> None:
    """Keep a normalised path that belongs to the layout from being deleted or moved.

    Raises:
        BadPath: it does.
    """
    if path.casefold() in PERMANENT_FOLDERS:
        raise BadPath(
            path, "this folder belongs to the layout and stays", "Name something inside it."
        )


def layer_of(path: str) -> str:
    """The first folder of a normalised path; a file at the root is its own layer."""
    return path.split("/", 1)[0]


def encode_name(name: str, *, what: str = "session_id") -> str:
    """A file name that holds any id, reversibly where it fits.

    NFC letters and digits of any script and ``._-`` stay; everything else becomes ``%XX`` of its
    UTF-8 bytes. Above 120 bytes it is cut to a prefix, ``~`` and 16 hex digits of its SHA-256;
    the full id then stands in the header of the file.

    Raises:
        BadInput: the id is empty, blank, made of dots or contains a path traversal.
    """
    remedy = f"Pass a {what} with at least one letter or digit and no '..' path part."
    if not isinstance(name, str):
        raise BadInput(name, f"{what} is no text", remedy)
    if not name.strip():
        raise BadInput(name, f"{what} is empty", remedy)
    normal = unicodedata.normalize("NFC", name)
    if any(part in (".", "..") for part in re.split(r"[/\\]", normal)):
        raise BadInput(name, f"{what} climbs out of its folder", remedy)
    return _encoded(normal)


@lru_cache(maxsize=256)
def _encoded(normal: str) -> str:
    encoded = "".join(_encode_character(character) for character in normal)
    if encoded[0] == ".":
        encoded = "%2E" + encoded[1:]
    if encoded[-1] == ".":
        encoded = encoded[:-1] + "%2E"
    too_long = len(encoded.encode()) > _LONGEST_ENCODED_BYTES
    if too_long or encoded.split(".")[0].casefold() in _DEVICE_NAMES:
        return hashed_name(normal, encoded)
    return encoded


def _user_folder(users: Path, user: str) -> str:
    """The folder of a user: two names are two folders, also on disks that fold case."""
    encoded = encode_name(user, what="user")
    hashed = hashed_name(unicodedata.normalize("NFC", user), encoded)
    try:
        taken = os.listdir(users)
    except OSError:  # there is none yet, or it cannot be used: opening it will say so
        taken = []
    if encoded in taken or hashed in taken:
        return encoded if encoded in taken else hashed
    alike = {unicodedata.normalize("NFC", name).casefold() for name in taken}
    return hashed if encoded.casefold() in alike else encoded


def hashed_name(name: str, encoded: str) -> str:
    """The collision-free spelling of an id whose plain encoding is taken or too long."""
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    prefix = encoded.encode()[: _LONGEST_ENCODED_BYTES - 17].decode("utf-8", "ignore")
    return f"{prefix}~{digest}"


def _encode_character(character: str) -> str:
    if character in "._-" or unicodedata.category(character)[0] in "LN":
        return character
    if unicodedata.category(character) in ("Mn", "Mc"):  # vowel signs are part of a word
        return character
    return "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "surrogatepass"))


def _refuse_unsafe_text(path: str, text: str, what: str) -> None:
    if not text:
        raise BadPath(path, f"{what} is empty", _WAY_OUT)
    if text.startswith(("/", "~")):
        raise BadPath(path, f"{what} must be relative to the workspace", _WAY_OUT)
    if len(text.encode("utf-8", "surrogatepass")) > _LONGEST_PATH_BYTES:
        raise BadPath(path, f"{what} is longer than {_LONGEST_PATH_BYTES} bytes", _WAY_OUT)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise BadPath(path, f"{what} is not valid Unicode", _WAY_OUT) from error


def _refuse_unsafe_component(path: str, part: str) -> None:
    if part == "..":
        raise BadPath(path, "the path climbs out of its folder", _WAY_OUT)
    if part != part.strip() or part.endswith("."):
        raise BadPath(path, f"{part!r} begins or ends with a blank or ends with a dot", _WAY_OUT)
    if part.startswith("."):
        raise BadPath(path, f"{part!r} is a hidden file", _WAY_OUT)
    found = _FORBIDDEN.search(part)
    if found:
        raise BadPath(path, f"{found[0]!r} is not allowed in a file name", _WAY_OUT)
    if part.split(".")[0].casefold() in _DEVICE_NAMES:
        raise BadPath(path, f"{part!r} is a device name on Windows", _WAY_OUT)
    if len(part.encode("utf-8", "surrogatepass")) > _LONGEST_COMPONENT_BYTES:
        raise BadPath(
            path, f"a file name is longer than {_LONGEST_COMPONENT_BYTES} bytes", _WAY_OUT
        )
