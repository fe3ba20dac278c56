"""The agent service on a real port, and people who talk to it over HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from agent_service import memory_service
from agentscope.message import UserMsg

from tests.loopback import LoopbackProvider


@asynccontextmanager
async def running_service(folder: Path, **options: Any) -> AsyncIterator[str]:
    """Serve until the block ends; gives the address."""
    config = uvicorn.Config(
        memory_service(folder, **options), host="127.0.0.1", port=0, log_level="warning"
    )
    server = uvicorn.Server(config)
    server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
    serving = asyncio.create_task(server.serve())
    while not server.started:
        if serving.done():
            await serving
        await asyncio.sleep(0)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        await serving


@dataclass
class Person:
    """A user of the service, with one agent of their own."""

    http: httpx.AsyncClient
    agent_id: str
    model: dict[str, Any]

    @classmethod
    async def sign_up(cls, address: str, name: str, provider: LoopbackProvider) -> Person:
        http = httpx.AsyncClient(base_url=address, headers={"X-User-ID": name}, timeout=30)
        key = await _post(
            http,
            "/credential/",
            data={
                "type": "openai_credential",
                "name": "loopback",
                "api_key": "k",
                "base_url": provider.openai_url,
            },
        )
        agent = await _post(http, "/agent/", name="Friday", system_prompt="You help.")
        model = {
            "type": "openai_credential",
            "credential_id": key["credential_id"],
            "model": "m",
            "parameters": {},
        }
        return cls(http, agent["agent_id"], model)

    async def new_session(self) -> str:
        made = await _post(
            self.http, "/sessions/", agent_id=self.agent_id, chat_model_config=self.model
        )
        return str(made["session_id"])

    async def say(
        self, session_id: str, text: str | list[Any], until: str = "REPLY_END"
    ) -> list[dict[str, Any]]:
        """Say something and wait for the end of the reply; gives the events until then."""
        message = UserMsg("user", text).model_dump(mode="json")
        return await self._send(session_id, message, until)

    async def decide(
        self, session_id: str, asked: dict[str, Any], *, confirmed: bool
    ) -> list[dict[str, Any]]:
        """Allow or refuse the tool calls a reply waits for; gives the events until its end."""
        decided = [{"confirmed": confirmed, "tool_call": call} for call in asked["tool_calls"]]
        verdict = {
            "type": "USER_CONFIRM_RESULT",
            "reply_id": asked["reply_id"],
            "confirm_results": decided,
        }
        return await self._send(session_id, verdict, "REPLY_END")

    async def _send(
        self, session_id: str, what: dict[str, Any], until: str
    ) -> list[dict[str, Any]]:
        events: list[dict[str, Any]] = []
        path = f"/sessions/{session_id}/stream"
        async with self.http.stream("GET", path, params={"agent_id": self.agent_id}) as stream:
            stream.raise_for_status()
            await _post(
                self.http, "/chat/", agent_id=self.agent_id, session_id=session_id, input=what
            )
            async for line in stream.aiter_lines():
                if line.startswith("data:"):
                    events.append(json.loads(line.removeprefix("data:")))
                    if events[-1].get("type") == until:
                        return events
        raise AssertionError(f"the stream ended without {until}: {events}")

    def at(self, address: str) -> httpx.AsyncClient:
        """The same person's way to a service that was started again."""
        return httpx.AsyncClient(base_url=address, headers=self.http.headers, timeout=30)

    async def leave(self) -> None:
        await self.http.aclose()


async def _post(http: httpx.AsyncClient, path: str, **body: Any) -> dict[str, Any]:
    answer = await http.post(path, json=body)
    assert answer.is_success, f"{path}: {answer.status_code} {answer.text}"
    return dict(answer.json())
