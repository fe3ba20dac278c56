"""Makes the environment of the other engines: ``python benchmarks/peers/prepare.py``.

It stands in ``.venv-peers`` next to the project, so that nothing of theirs enters ours. Calling
it again does nothing until `requirements.txt` changes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import Final

REQUIREMENTS: Final = Path(__file__).with_name("requirements.txt")
HOME: Final = Path(__file__).resolve().parents[2] / ".venv-peers"


def interpreter() -> Path:
    """The Python of the peers' environment, whether or not it is there."""
    return HOME / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def is_prepared() -> bool:
    """Whether the environment holds what `requirements.txt` asks for now."""
    stamp = HOME / ".installed"
    return stamp.is_file() and stamp.read_bytes() == REQUIREMENTS.read_bytes()


def prepare() -> None:
    """Create the environment, anew where it stands for something else.

    Raises:
        CalledProcessError: the packages could not be installed.
    """
    if is_prepared():
        return
    venv.create(HOME, clear=True, with_pip=True)  # it may be half made, by another Python
    pip = [str(interpreter()), "-m", "pip", "install", "--quiet", "--upgrade", "pip>=25.1"]
    subprocess.run(pip, check=True)
    subprocess.run([*pip[:5], "--requirement", str(REQUIREMENTS)], check=True)
    (HOME / ".installed").write_bytes(REQUIREMENTS.read_bytes())


if __name__ == "__main__":
    try:
        prepare()
    except subprocess.CalledProcessError as error:
        sys.exit(f"the other engines could not be installed: {error}")
