"""A process that dies in the middle of an import leaves what it had; the next adds the rest."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agentscope_reme import ReMe
from agentscope_reme.transfer.importing import import_memory
from tests.transfer.conftest import QUIET, chatgpt_export, chatgpt_node, files_of, write_json

ROOT = Path(__file__).parents[2]
CHILD = [sys.executable, "-m", "tests.transfer.importing_child"]
TALKS = 12


@pytest.fixture
def export(tmp_path: Path) -> Path:
    def talk(number: int) -> dict[str, object]:
        nodes = [
            chatgpt_node(f"{number}-q", None, "user", [f"Zebra {number}?"], 1.7e9 + number),
            chatgpt_node(f"{number}-a", f"{number}-q", "assistant", ["Yes."], 1.7e9 + number + 1),
        ]
        return chatgpt_export(*nodes, last=f"{number}-a", name=f"c{number}")

    return write_json(tmp_path / "conversations.json", [talk(number) for number in range(TALKS)])


@pytest.mark.crash
@pytest.mark.parametrize("after", [1, 5, TALKS - 1])
async def test_nothing_is_missing_and_nothing_is_there_twice(
    tmp_path: Path, export: Path, after: int
) -> None:
    _killed(tmp_path / "killed", export, after)
    results = []
    for name in ("killed", "whole"):
        async with ReMe(tmp_path / name, settings=QUIET, timezone="UTC") as memory:
            results.append(await import_memory(memory, export))
            assert len((await memory.search("zebra", limit=TALKS)).hits) == TALKS
    assert [_turns(tmp_path / name) for name in ("killed", "whole")] == [2 * TALKS] * 2
    assert results[0].duplicates >= 2 * after
    assert set(files_of(tmp_path / "killed")) == set(files_of(tmp_path / "whole"))


@pytest.mark.crash
def test_several_imports_at_once(tmp_path: Path) -> None:
    vault = tmp_path / "Vault"
    vault.mkdir()
    for number in range(300):
        (vault / f"n{number}.md").write_text(f"[[n{number + 1}]] zebra")
    children = [
        subprocess.Popen([*CHILD, str(tmp_path / "m"), str(vault)], cwd=ROOT) for _ in range(3)
    ]
    assert [child.wait() for child in children] == [0, 0, 0]
    assert len(list((tmp_path / "m/digest/wiki/Vault").iterdir())) == 300


def _killed(workspace: Path, export: Path, after: int) -> None:
    """Import in a process that is killed when so many conversations are in."""
    child = subprocess.Popen(
        [*CHILD, str(workspace), str(export)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    for line in child.stdout:
        if line == f"conversations {after}\n":
            child.send_signal(signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL
    child.stdout.close()


def _turns(root: Path) -> int:
    logs = (root / "session" / "dialog").iterdir()
    rows = [json.loads(line) for place in logs for line in place.read_text().splitlines()]
    return sum("role" in row for row in rows)


def test_on_the_command_line(tmp_path: Path, export: Path) -> None:
    env = {**os.environ, "REME_LLM_API_KEY": ""}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "agentscope_reme.cli", *words]
        return subprocess.run(
            command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False
        )

    taken = run("import", f"source={export}", "workspace_dir=a", "--json")
    assert (taken.returncode, json.loads(taken.stdout)["turns"]) == (0, 2 * TALKS)
    assert run("export", "to=all", "workspace_dir=a").returncode == 0
    made = run("import", "source=all.zip", "workspace_dir=b")
    assert made.returncode == 0, made.stderr
    found = run("search", "query=zebra 7", "limit=1", "workspace_dir=b", "--json")
    assert json.loads(found.stdout)["hits"][0]["path"] == "session/dialog/chatgpt-c7.jsonl"
    wrong = run("import", "source=nowhere", "workspace_dir=c")
    assert (wrong.returncode, "nothing to import" in wrong.stderr) == (2, True)
    assert run("import", "workspace_dir=c").returncode == 2
    assert "format=auto" in run("import", "--help").stdout
