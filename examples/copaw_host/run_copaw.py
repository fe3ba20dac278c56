"""``copaw`` with this library's memory: ``python run_copaw.py app --port 8088``.

CoPaw 1.0.2 has no place to name a memory; the one function that names its own is replaced.
"""

from __future__ import annotations

from copaw.app.workspace import workspace
from copaw.cli.main import cli
from copaw_memory import FileMemoryManager


def memory_class(_backend: str) -> type:
    """Our manager, whatever the configuration says: it allows one value only."""
    return FileMemoryManager


if __name__ == "__main__":
    workspace._resolve_memory_class = memory_class
    cli()
