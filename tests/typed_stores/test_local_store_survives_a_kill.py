"""``kill -9`` at any moment loses nothing that was acknowledged, and leaves no half of a write.

``REME_CRASH_ROUNDS`` sets how many processes are killed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from agentscope_reme.typed.stores.local import LocalVectorStore
from tests.typed_stores.builders import EVERYTHING, of
from tests.typed_stores.killed_child import SPACE, batch, vector

ROUNDS = max(3, int(os.environ.get("REME_CRASH_ROUNDS", "20")) // 20)


def killed_after(folder: Path, acknowledged: int) -> int:
    """The number the child said last before it was killed."""
    command = [sys.executable, "-m", "tests.typed_stores.killed_child", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        for line in child.stdout:
            if int(line) >= acknowledged:
                break
        child.send_signal(signal.SIGKILL)
        heard = [line, *child.stdout]
        assert child.wait() == -signal.SIGKILL
    # The last line may be torn: it was not heard whole, so nothing was promised.
    return int([line for line in heard if line.endswith("\n")][-1])


@pytest.mark.crash
def test_what_was_acknowledged_is_there_and_whole(tmp_path: Path) -> None:
    for turn in range(ROUNDS):
        folder = tmp_path / str(turn)
        last = killed_after(folder, 5 + 7 * turn)
        store = LocalVectorStore(folder)
        store.open()
        nodes = store.get([f"m{place}" for place in range(5)])
        (version,) = {int(node.content.split()[1]) for node in nodes}
        assert version >= last
        assert nodes == batch(version)
        rows = store.vectors(SPACE, [node.memory_id for node in nodes])
        for place, node in enumerate(nodes):
            wanted = np.array(vector(version, place))
            wanted /= np.linalg.norm(wanted)
            assert np.allclose(rows[node.memory_id], wanted, atol=1e-6)
        assert store.spaces() == {SPACE: 5}
        there = {node.memory_id for node in store.list(of("search"))}
        assert {f"new{number}" for number in range(last - 2, last + 1) if number > 0} <= there | {
            f"new{last - 2}" if version > last else ""
        }
        assert f"new{last - 3}" not in there
        assert (
            store.search(vector(version, 2), space_id=SPACE, limit=1, where=EVERYTHING)[
                0
            ].node.memory_id
            == "m2"
        )
        store.put(batch(version + 1))
        assert store.get(["m0"])[0].content == f"version {version + 1}"
        store.close()
