"""``kill -9`` at a random moment: acknowledged changes stay, unfinished ones are old or new."""

from __future__ import annotations

import ast
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agentscope_reme.vault.vault import Vault
from tests.vault.crash_house import open_vault
from tests.vault.crashing_child import digested

ROUNDS = int(os.environ.get("REME_CRASH_ROUNDS", "30"))
_REPOSITORY = Path(__file__).parents[2]

State = dict[str, str]


@pytest.mark.crash
def test_no_acknowledged_change_is_lost_and_none_is_half_done(tmp_path: Path) -> None:
    root = tmp_path / "memory"
    for seed in range(ROUNDS):
        acknowledged, tried = _killed_run(root, seed)
        vault = open_vault(str(root))
        vault.scan()
        _check(vault, root, acknowledged, tried)
        vault.close()
        vault.store.close()


def _killed_run(root: Path, seed: int) -> tuple[State, list[State]]:
    """The last acknowledged state, and what was attempted after it."""
    chance = random.Random(seed)
    command = [sys.executable, "-m", "tests.vault.crashing_child", str(root), str(seed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=_REPOSITORY) as child:
        assert child.stdout is not None
        said = [child.stdout.readline() for _ in range(chance.randrange(1, 25))]
        end = time.monotonic() + chance.random() * 0.02  # somewhere inside the next changes
        while time.monotonic() < end:
            pass
        child.send_signal(signal.SIGKILL)
        said += child.stdout.readlines()
    assert child.returncode == -signal.SIGKILL
    steps = [ast.literal_eval(line) for line in said if line.endswith("\n")]
    last = max(index for index, (word, _) in enumerate(steps) if word != "trying")
    return steps[last][1], [state for _, state in steps[last + 1 :]]


def _check(vault: Vault, root: Path, acknowledged: State, tried: list[State]) -> None:
    texts = {path: (root / path).read_text() for path in vault.paths()}
    found = digested(texts)
    attempts = [acknowledged, *tried]
    assert found in attempts or _is_half_of_an_undo(vault, found, acknowledged)
    assert {node.path for node in vault.store.nodes()} == set(found)
    for node in vault.store.nodes():
        assert vault.store.chunks(node.path)[0].text.split()[0] == texts[node.path].split()[0]
    assert not [p for p in root.rglob("*.tmp") if p.name.startswith(".")]
    assert vault.dirty == []
    for record in vault.history(limit=5):
        assert record.state in ("done", "aborted")
        vault.diff(record.change_id)


def _is_half_of_an_undo(vault: Vault, found: State, acknowledged: State) -> bool:
    """The write before an undo is a whole change of its own."""
    differing = {path for path, text in found.items() if acknowledged.get(path) != text}
    newest = next(r for r in vault.history() if r.state == "done")
    return set(found) == set(acknowledged) and differing == set(newest.paths)
