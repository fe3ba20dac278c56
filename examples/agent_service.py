"""AgentScope 2.x's agent service, where every user has a memory of their own.

    pip install ".[v2]" "agentscope[service,storage-sql]" aiosqlite
    python examples/agent_service.py        # then talk to it on http://127.0.0.1:8000

The service builds an agent, and with it a middleware, for every chat turn; one `ReMe` for each
user is what they share.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from agentscope.app import create_app
from agentscope.app.message_bus import InMemoryMessageBus
from agentscope.app.storage import AsyncSQLAlchemyStorage
from agentscope.app.workspace_manager import LocalWorkspaceManager
from agentscope.middleware import MiddlewareBase
from fastapi import FastAPI

from agentscope_reme import ReMe


def memory_service(folder: Path, *, chat_model: Any = None) -> FastAPI:
    """The service, with everything it keeps below `folder`; the model distils what was said."""
    folder.mkdir(parents=True, exist_ok=True)
    memories: dict[str, ReMe] = {}

    async def memory_of(user_id: str, agent_id: str, session_id: str) -> list[MiddlewareBase]:
        if user_id not in memories:  # the name comes from the service, never from a model
            memories[user_id] = ReMe(folder / "memory", user=user_id, chat_model=chat_model)
        return [memories[user_id].middleware(session_id=session_id)]

    app = create_app(
        storage=AsyncSQLAlchemyStorage(f"sqlite+aiosqlite:///{folder / 'service.db'}"),
        message_bus=InMemoryMessageBus(),
        workspace_manager=LocalWorkspaceManager(str(folder / "workspaces")),
        extra_agent_middlewares=memory_of,
    )
    lifespan = app.router.lifespan_context

    @asynccontextmanager
    async def closing_memories(app: FastAPI) -> AsyncIterator[None]:
        async with lifespan(app):
            yield
        for memory in memories.values():
            await memory.close()

    app.router.lifespan_context = closing_memories
    return app


if __name__ == "__main__":
    import uvicorn

    uvicorn.run(memory_service(Path(".reme-service")), host="127.0.0.1", port=8000)
