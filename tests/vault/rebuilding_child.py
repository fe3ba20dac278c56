"""A process that builds the index anew and dies in the middle of it.

Run with a workspace folder and the number of files after which it dies.
"""

from __future__ import annotations

import os
import signal
import sys

from agentscope_reme.store.indexer import FileIndexer
from tests.vault.crash_house import open_vault


def main(root: str, after: int) -> None:
    vault = open_vault(root)
    understood = 0
    index = FileIndexer.index

    def dying(self, path, data, *, mtime_ns):  # type: ignore[no-untyped-def]
        nonlocal understood
        understood += 1
        if understood > after:
            os.kill(os.getpid(), signal.SIGKILL)
        return index(self, path, data, mtime_ns=mtime_ns)

    FileIndexer.index = dying  # type: ignore[method-assign]
    vault.index.reindex()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
