"""A process that changes one typed memory at the same moments as another one.

Arguments: the folder, the address of a server or ``-``, the work, and a name. It says "ready",
waits for a line, works, and says what it has done.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from agentscope_reme import Settings, VectorReMe
from agentscope_reme.errors import NotFound

IDS = [f"m{number}" for number in range(40)]
CALLS = 25


async def update(reme: VectorReMe, name: str) -> list[str]:
    done = []
    for memory_id in IDS:
        try:
            await reme.update_memory(memory_id, "alice", memory_content=f"changed by {name}")
            done.append(memory_id)
        except NotFound:
            continue
    return done


async def delete(reme: VectorReMe, name: str) -> list[str]:
    for memory_id in IDS:
        await reme.delete_memory(memory_id)
    return IDS


async def count(reme: VectorReMe, name: str) -> list[str]:
    for number in range(CALLS):
        at = f"2026-02-{1 + number:02d} 10:00:00"
        call = {"id": f"{name}{number}", "type": "tool_call", "name": "search", "input": {}}
        row = {"role": "assistant", "content": [call], "time_created": at, "id": f"{name}{number}"}
        await reme.summarize_memory([row], tool_name="search")
    return []


async def main(folder: str, server: str, work: str, name: str) -> None:
    store: dict[str, Any] = {"backend": "local"}
    if server != "-":
        store = {"backend": "elasticsearch", "hosts": server}
    settings = Settings(fsync=False)
    async with VectorReMe(
        Path(folder), default_vector_store_config=store, settings=settings
    ) as reme:
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        done = await {"update": update, "delete": delete, "count": count}[work](reme, name)
    print(json.dumps(done), flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
