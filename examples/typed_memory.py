"""Memories of a person and of a task, in a vector store; for both lines of AgentScope.

pip install 'agentscope-reme[v2]'  # or [v1]
REME_LLM_API_KEY=... REME_LLM_BASE_URL=... REME_EMBEDDING_API_KEY=... REME_EMBEDDING_BASE_URL=... \
    python examples/typed_memory.py
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from agentscope_reme import ReMe, VectorReMe

TALK = [
    {
        "role": "user",
        "content": "I stopped drinking coffee, it is green tea now.",
        "time_created": "2026-02-28 10:00:00",
    },
    {"role": "assistant", "content": "Noted.", "time_created": "2026-02-28 10:00:05"},
]


async def remember(folder: str = ".reme") -> str:
    """Learn from a conversation, add by hand, ask, and hand everything over as files."""
    async with VectorReMe(
        folder,
        default_llm_config={"backend": "openai", "model_name": "qwen-plus"},
        default_embedding_model_config={
            "backend": "openai",
            "model_name": "text-embedding-v4",
            "dimensions": 1024,
        },
    ) as memory:
        done = await memory.summarize_memory(TALK, user_name="alice", return_dict=True)
        print(done["answer"])  # without a model the conversation is kept and waits for one
        for node in done["nodes"]:
            print("learnt:", node.content, f"(said {node.message_time})")
        await memory.add_memory(
            "Back up, then run `migrate --safe`.", task_name="deploy", when_to_use="migrations fail"
        )
        print(await memory.retrieve_memory("a migration failed", task_name="deploy"))
        answer = await memory.retrieve_memory("What does Alice drink?", user_name="alice")

        async with ReMe(Path(folder) / "files") as files:  # both kinds of memory in one search
            await memory.export_markdown(files, user_name="alice", task_name="deploy")
            print((await files.search("green tea")).answer)
        return answer


if __name__ == "__main__":
    print(asyncio.run(remember()))
