"""A process that stays has loaded everything when it is open: no call holds up the event loop."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CALLS = """
import asyncio, sys
from agentscope_reme import ReMe, Settings
from agentscope_reme.errors import ModelRequired

NOTE = "daily/2026-11-28/note.md"
SAID = [{"role": "user", "name": "ada", "content": "The ferry leaves at nine."}]


async def main():
    async with ReMe(sys.argv[1], settings=Settings(fsync=False)) as reme:
        before = set(sys.modules)
        await reme.record("s", SAID)
        await reme.archive("s", SAID)
        await reme.write(NOTE, "# Ferry\\n\\nIt leaves at nine. [[digest/wiki/port.md]]\\n")
        await reme.recall("ferry")
        await reme.read(NOTE)
        await reme.traverse(NOTE)
        await reme.graph_snapshot()
        await reme.forget(query="ferry")
        await reme.remember("The ferry is white.")
        await reme.retention()
        await reme.doctor()
        await reme.status()
        await reme.offload_tool_results(SAID)
        await reme.reindex()
        reme.tools()
        for call in (reme.auto_resource(), reme.auto_dream(), reme.summarise(SAID)):
            try:
                await call
            except ModelRequired:
                pass
        print(sorted(name for name in set(sys.modules) - before if "agentscope_reme" in name))


asyncio.run(main())
"""


def test_all_of_it_is_loaded_at_the_start(tmp_path: Path) -> None:
    command = [sys.executable, "-c", CALLS, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.returncode) == ("[]", 0), done.stderr


WORDS = """
import asyncio, sys
from agentscope_reme import ReMe, Settings


async def main():
    async with ReMe(sys.argv[1], settings=Settings(fsync=False)) as reme:
        print("rjieba" in sys.modules, (await reme.status()).failures)
        await reme.write("digest/wiki/a.md", sys.argv[2])
        await reme.optimize_index()  # what is sealed is not cut into words again at the start


asyncio.run(main())
"""


def test_the_words_of_chinese_are_loaded_where_there_is_any(tmp_path: Path) -> None:
    said = []
    for text in ("The ferry leaves at nine.", "渡轮九点出发。", "The ferry is white."):
        command = [sys.executable, "-c", WORDS, str(tmp_path), text]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        said.append(done.stdout.strip())
    assert said == ["False {}", "False {}", "True {}"]
