"""The example of ``docs/scaling.md``, as it stands there, on a real server."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme import ReMe
from tests.scaleout.servers import SeekdbServer

pytestmark = pytest.mark.scaleout
GUIDE = Path(__file__).parents[3] / "docs" / "scaling.md"


async def test_the_example_works(
    seekdb: SeekdbServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", GUIDE.read_text("utf-8"), flags=re.S)
    monkeypatch.setenv("DB_HOST", "127.0.0.1")
    monkeypatch.setenv("DB_PORT", str(seekdb.port))
    monkeypatch.setenv("DB_PASSWORD", seekdb.password)
    made: dict[str, Any] = {}
    exec(compile(block.replace("/mnt/memory", str(tmp_path)), "scaling.md", "exec"), made)
    memory = made["memory"]
    assert isinstance(memory, ReMe)
    async with memory:
        await memory.write("digest/wiki/a.md", "An apple.")
        assert [hit.path for hit in (await memory.search("apple")).hits] == ["digest/wiki/a.md"]
