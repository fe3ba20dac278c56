"""Runs every benchmark, each in a process of its own: ``python -m benchmarks [name ...]``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent


def runnable() -> list[str]:
    """The modules of this folder that can be run by themselves."""
    return sorted(
        place.stem
        for place in FOLDER.glob("*.py")
        if not place.stem.startswith("_") and "__main__" in place.read_text(encoding="utf-8")
    )


def main(names: list[str]) -> int:
    """Run the named benchmarks, or all; the number that failed."""
    unknown = sorted(set(names) - set(runnable()))
    if unknown:
        print(f"no such benchmark: {', '.join(unknown)}; there are {', '.join(runnable())}")
        return 2
    failed = 0
    for name in names or runnable():
        print(f"# {name}\n", flush=True)
        command = [sys.executable, "-m", f"benchmarks.{name}"]
        failed += subprocess.run(command, cwd=FOLDER.parent, check=False).returncode != 0
        print(flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
