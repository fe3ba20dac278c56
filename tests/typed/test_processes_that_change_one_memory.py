"""Two processes change one memory at the same moments: what one deleted stays so, counts add up."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme import Settings, VectorReMe
from agentscope_reme.typed.nodes import MemoryNode
from agentscope_reme.typed.stores import make_store
from tests.typed.racing_child import CALLS, IDS
from tests.typed_stores.elasticsearch_server import address, serving

CHILD = "tests.typed.racing_child"


@pytest.fixture(params=["local", "elasticsearch"])
def server(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a database; ``-`` for the local one."""
    if request.param == "local":
        yield "-"
        return
    with serving() as one:
        yield address(one)


def backend(server: str) -> dict[str, Any]:
    return {"backend": "local"} if server == "-" else {"backend": "es", "hosts": server}


def raced(folder: Path, server: str, *works: str) -> list[list[str]]:
    """Let a process do each of the works, all at once; what each has done."""
    children = [
        subprocess.Popen(
            [sys.executable, "-m", CHILD, str(folder), server, work, f"{work}{number}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number, work in enumerate(works)
    ]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    for child in children:
        assert child.stdin is not None
        child.stdin.write("\n")
        child.stdin.flush()
    told = [child.communicate(timeout=120)[0] for child in children]
    assert [child.returncode for child in children] == [0] * len(works)
    return [json.loads(lines) for lines in told]


async def opened(folder: Path, server: str) -> VectorReMe:
    reme = VectorReMe(
        folder, default_vector_store_config=backend(server), settings=Settings(fsync=False)
    )
    await reme.start()
    return reme


async def test_what_one_deletes_while_another_changes_it_stays_deleted(
    tmp_path: Path, server: str
) -> None:
    options = {key: value for key, value in backend(server).items() if key != "backend"}
    store = make_store(backend(server)["backend"], tmp_path, **options)
    store.open()
    store.put(
        [
            MemoryNode(memory_id=key, memory_type="personal", memory_target="alice", content="tea")
            for key in IDS
        ]
    )
    store.close()
    _, deleted, _ = raced(tmp_path, server, "update", "delete", "update")
    assert deleted == IDS
    reme = await opened(tmp_path, server)
    assert await reme.list_memory("alice") == []
    await reme.close()


async def test_no_call_of_a_tool_is_counted_away(tmp_path: Path, server: str) -> None:
    raced(tmp_path, server, "count", "count")
    reme = await opened(tmp_path, server)
    [statistics] = await reme.list_memory(tool_name="search", filters={"statistics": True})
    assert statistics.metadata["calls"] == 2 * CALLS
    await reme.close()
