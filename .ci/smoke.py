"""Run in an environment that holds nothing but the wheel: import everything, remember one thing."""

import asyncio
import sys
import tempfile
from importlib.metadata import version

import agentscope_reme
import agentscope_reme.hooks
from agentscope_reme import ReMe

LINE = int(sys.argv[1])
NAMES = {1: ["ReMeMemory", "ReMeLongTermMemory", "ReMeToolkit"], 2: ["ReMeMemoryMiddleware"]}


async def main() -> None:
    assert int(version("agentscope").split(".")[0]) == LINE, version("agentscope")
    assert "site-packages" in agentscope_reme.__file__, agentscope_reme.__file__
    for name in NAMES[LINE]:
        getattr(agentscope_reme, name)
    with tempfile.TemporaryDirectory() as folder:
        async with ReMe(folder) as reme:
            saved = await reme.auto_memory(
                [{"role": "user", "content": "The launch moved to 9 July. 发布改到七月九日。"}],
                session_id="smoke",
            )
            assert saved.pending, saved
            found = await reme.search("发布")
            assert found.hits[0].path == "session/dialog/smoke.jsonl", found
    print(f"smoke test on AgentScope {version('agentscope')}: {found.hits[0].path} found")


asyncio.run(main())
