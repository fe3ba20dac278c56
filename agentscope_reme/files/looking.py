"""What stands at a place. Where the system will not say, that is an error and never a "no".

`Path.is_file` and its kin answer "no" for what is not there and raise bare `OSError` for what may
not be looked at, such as a file in a folder that this user must not enter.
"""

from __future__ import annotations

import os
from pathlib import Path

from agentscope_reme.errors import NotFound
from agentscope_reme.files.disk import told


def is_file(place: Path) -> bool:
    """Whether a regular file stands at `place`, or a symlink to one.

    Raises:
        StorageFailed: the system will not say.
    """
    with told(place, "looking at it"):
        return place.is_file()


def is_folder(place: Path) -> bool:
    """Whether a folder stands at `place`, or a symlink to one.

    Raises:
        StorageFailed: the system will not say.
    """
    with told(place, "looking at it"):
        return place.is_dir()


def exists(place: Path) -> bool:
    """Whether anything stands at `place`.

    Raises:
        StorageFailed: the system will not say.
    """
    with told(place, "looking at it"):
        return place.exists()


def is_special(place: Path) -> bool:
    """Whether something stands at `place` that is neither a file nor a folder, such as a pipe.

    Raises:
        StorageFailed: the system will not say.
    """
    with told(place, "looking at it"):
        return place.exists() and not (place.is_file() or place.is_dir())


def names_in(folder: Path) -> list[str]:
    """What a folder holds, in no order; nothing where there is no folder.

    Raises:
        StorageFailed: it cannot be listed.
    """
    try:
        with told(folder, "listing"):
            return os.listdir(folder) if folder.is_dir() else []
    except NotFound:  # it went meanwhile
        return []
