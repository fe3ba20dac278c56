"""What the check before every model call costs: ``python -m benchmarks.window``.

A window of 500 messages of an agent with 20 tools, below its threshold, gets one message more
before each check, as in a running agent. Needs AgentScope 1.x. Ends with status 1 when the bar is
missed.
"""

from __future__ import annotations

import asyncio
import gc
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import Any, Final

from agentscope_reme.agentscope_line import installed_line

MESSAGES: Final = 500
CHECKS: Final = 300
TOOLS: Final = 20
BAR_P95_MS: Final = 2.0


async def measured() -> list[tuple[float, float]]:
    """Milliseconds of each check on the clock and of the processor, the first one left out."""
    from agentscope.agent import ReActAgent
    from agentscope.formatter import OpenAIChatFormatter
    from agentscope.message import Msg

    from agentscope_reme import ReMe, ReMeMemory
    from agentscope_reme.agentscope_v1.scripted import ScriptedChatModel
    from agentscope_reme.hooks import MemoryCompactionHook

    with tempfile.TemporaryDirectory() as folder:
        async with ReMe(folder) as reme:
            memory = ReMeMemory(reme, "window")
            agent = ReActAgent(
                "Friday",
                "You are a helpful assistant. " * 50,
                ScriptedChatModel([]),
                OpenAIChatFormatter(),
                toolkit=_toolkit(),
                memory=memory,
            )
            for number in range(MESSAGES // 4):
                await memory.add(_round(Msg, number))
            hook = MemoryCompactionHook(reme, 10**9)
            began = time.perf_counter()
            await hook(agent, {})
            print(f"first check: {(time.perf_counter() - began) * 1000:.1f} ms")
            taken = []
            gc.collect()
            for number in range(CHECKS):
                await memory.add(Msg("user", f"and then {number}? " + "some words " * 30, "user"))
                await memory.delete_by_mark("hint")
                began, worked = time.perf_counter(), time.thread_time()
                await hook(agent, {})
                spent = time.perf_counter() - began, time.thread_time() - worked
                taken.append((spent[0] * 1000, spent[1] * 1000))
            return taken


def _toolkit() -> Any:
    from agentscope.tool import Toolkit, ToolResponse

    toolkit = Toolkit()
    for number in range(TOOLS):

        async def look(query: str, limit: int = 5) -> ToolResponse:
            """Look something up.

            Args:
                query: what to look for.
                limit: how many answers at most.
            """
            raise AssertionError("not called")

        toolkit.register_tool_function(look, func_name=f"look_{number}")
    return toolkit


def _round(msg: Any, number: int) -> list[Any]:
    call = {"type": "tool_use", "id": f"c{number}", "name": "look_1", "input": {"query": "tea"}}
    words = [{"type": "text", "text": f"line {number} of a file\n" * 60}]
    result = {"type": "tool_result", "id": f"c{number}", "name": "look_1", "output": words}
    return [
        msg("user", f"question {number} " + "several words " * 40, "user"),
        msg("Friday", [{"type": "text", "text": f"I look {number}."}, call], "assistant"),
        msg("system", [result], "system"),
        msg("Friday", f"answer {number} " + "several words " * 40, "assistant"),
    ]


def _p95(ordered: Sequence[float]) -> float:
    return ordered[int(len(ordered) * 0.95)]


def main() -> int:
    """Print the table; 1 when the bar is missed."""
    if installed_line() != 1:
        print("This benchmark needs AgentScope 1.x: run it in an environment that has it.")
        return 0
    clock, processor = map(sorted, zip(*asyncio.run(measured()), strict=True))
    p95 = _p95(clock)
    verdict = "pass" if p95 < BAR_P95_MS else "**MISS**"
    print(f"\n| check of a window of {MESSAGES} to {MESSAGES + CHECKS} messages | p50 | p95 |")
    print("|---|---|---|")
    print(f"| on the clock, ms | {statistics.median(clock):.2f} | {p95:.2f} |")
    print(f"| of the processor, ms | {statistics.median(processor):.2f} | {_p95(processor):.2f} |")
    print(f"\nBar: {BAR_P95_MS:g} ms on the clock at p95: {verdict}")
    return 0 if p95 < BAR_P95_MS else 1


if __name__ == "__main__":
    sys.exit(main())
