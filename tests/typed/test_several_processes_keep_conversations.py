"""Two processes on one store: each knows what the other one kept, and what it deleted."""

from __future__ import annotations

from agentscope_reme import VectorReMe
from tests.typed.conftest import Open

TURNS = [
    {"role": "user", "content": f"turn {n}", "time_created": f"2026-02-28 10:00:0{n}"}
    for n in range(4)
]


async def _kept(reme: VectorReMe) -> list[str]:
    histories = await reme.list_memory("alice", filters={"memory_type": "history"})
    return [key for node in histories for key in str(node.metadata["messages"]).split(",")]


async def test_a_conversation_that_goes_from_one_to_the_other_is_kept_once(
    open_memory: Open,
) -> None:
    async with open_memory() as first, open_memory() as second:
        for length, reme in enumerate((first, second, first, second), 1):
            await reme.summarize_memory(TURNS[:length], user_name="alice")
        keys = await _kept(first)
        assert len(keys) == len(set(keys)) == len(TURNS)


async def test_what_another_one_deleted_is_kept_again(open_memory: Open) -> None:
    async with open_memory() as first, open_memory() as second:
        await first.summarize_memory(TURNS, user_name="alice")
        assert await second.delete_all() == 1
        await first.summarize_memory(TURNS, user_name="alice")
        assert len(await _kept(second)) == len(TURNS)
