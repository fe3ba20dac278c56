from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

from agentscope_reme.errors import Conflict
from agentscope_reme.files.changes import Write
from agentscope_reme.schema import content_hash
from tests.vault.conftest import House
from tests.vault.crash_house import open_vault

_REPOSITORY = Path(__file__).parents[2]
_EDIT = """
import sys
from agentscope_reme.errors import Conflict
from agentscope_reme.files.changes import Write
from agentscope_reme.schema import content_hash
from tests.vault.crash_house import open_vault
vault, name = open_vault(sys.argv[1]), sys.argv[2]
for number in range(50):
    while True:
        text = vault.read("a.md")
        change = Write("a.md", text + f"{name}{number}\\n".encode(), content_hash(text))
        try:
            vault.commit([change], actor=name, operation="write")
        except Conflict:
            continue
        break
"""


def test_no_acknowledged_edit_of_two_processes_is_lost(tmp_path: Path) -> None:
    vault = open_vault(str(tmp_path))
    vault.commit([Write("a.md", b"")], actor="user", operation="write")
    commands = [[sys.executable, "-c", _EDIT, str(tmp_path), name] for name in ("x", "y")]
    running = [subprocess.Popen(command, cwd=_REPOSITORY) for command in commands]
    assert [process.wait() for process in running] == [0, 0]
    lines = (tmp_path / "a.md").read_text().split()
    assert sorted(lines) == sorted(f"{name}{n}" for name in ("x", "y") for n in range(50))
    assert len(vault.history(limit=1000)) == 101
    assert {record.state for record in vault.history(limit=1000)} == {"done"}
    assert vault.scan(full=True).files == 0  # the index followed every one of them
    vault.store.close()


def test_threads_of_one_vault_lose_no_edit(house: House) -> None:
    house.vault.commit([Write("a.md", b"")], actor="user", operation="write")

    def edit(name: str) -> None:
        for number in range(20):
            while not _added(house, f"{name}{number}\n"):
                pass

    threads = [threading.Thread(target=edit, args=(name,)) for name in ("x", "y", "z")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(house.text("a.md").split())) == 60


def test_moves_and_writes_at_once_leave_no_dangling_link(house: House) -> None:
    vault = house.vault
    vault.commit([Write("t0.md", b"target")], actor="user", operation="write")

    def move() -> None:
        for number in range(15):
            vault.move(f"t{number}.md", f"t{number + 1}.md", actor="mover")

    thread = threading.Thread(target=move)
    thread.start()
    for number in range(15):
        vault.commit([Write(f"l{number}.md", b"[[t15.md]]")], actor="user", operation="write")
    thread.join()
    assert len(house.store.inlinks("t15.md")) == 15


def _added(house: House, line: str) -> bool:
    text = house.vault.read("a.md")
    change = Write("a.md", text + line.encode(), content_hash(text))
    try:
        house.vault.commit([change], actor="user", operation="write")
    except Conflict:
        return False
    return True
