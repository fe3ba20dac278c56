"""The official client of MCP, over HTTP and over standard streams: data, errors, progress."""

from __future__ import annotations

import base64
import json
import struct
import subprocess
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from agentscope_reme.jobs import DESTRUCTIVE_JOBS, READING_JOBS, jobs
from agentscope_reme.results import SearchResult
from tests.service.processes import COMMAND, Service, environment

OF_2 = version("mcp").startswith("2.")
Open = Callable[[Service], Any]


def field(thing: Any, name: str) -> Any:
    """A field by the name it has on the wire, in either release of the SDK."""
    return thing.model_dump(by_alias=True, mode="json").get(name)


@asynccontextmanager
async def over_http(service: Service) -> AsyncIterator[ClientSession]:
    if OF_2:
        import httpx2 as library
    else:
        import httpx as library
    headers = {"Authorization": f"Bearer {service.token}"}
    async with (
        library.AsyncClient(headers=headers) as client,
        streamable_http_client(f"{service.url}/mcp", http_client=client) as streams,
        ClientSession(streams[0], streams[1]) as session,
    ):
        await session.initialize()
        yield session


@asynccontextmanager
async def over_standard_streams(service: Service) -> AsyncIterator[ClientSession]:
    server = StdioServerParameters(
        command=COMMAND[0],
        args=[*COMMAND[1:], "start", "transport=stdio", f"workspace_dir={service.workspace}"],
        env=environment(),
    )
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        await session.initialize()
        yield session


@pytest.fixture(params=[over_http, over_standard_streams])
def opened(request: pytest.FixtureRequest) -> Open:
    way: Open = request.param
    return way


async def test_tools_carry_their_data(opened: Open, writable: Service) -> None:
    async with opened(writable) as session:
        card = {"path": "digest/wiki/mcp.md", "content": "halite is salty", "name": "stone"}
        assert not field(await session.call_tool("write", card), "isError")
        found = await session.call_tool("search", {"query": "halite"})
        assert not field(found, "isError")
        data = SearchResult.model_validate(field(found, "structuredContent"))
        assert data.hits[0].path == "digest/wiki/mcp.md"
        assert "halite is salty" in field(found, "content")[0]["text"]
        known = await session.call_tool("frontmatter_read", {"path": "digest/wiki/mcp.md"})
        assert field(known, "structuredContent")["frontmatter"]["name"] == "stone"


async def test_errors_are_errors(opened: Open, writable: Service) -> None:
    async with opened(writable) as session:
        for name, arguments, told in (
            ("read", {"path": "digest/wiki/none.md"}, "no such file"),
            ("read", {"path": "../../etc/passwd"}, "climbs out"),
            ("search", {"query": "a", "limt": 1}, "Did you mean limit?"),
            ("search", {"query": "a", "limit": "3"}, "limit"),
            ("auto_dream", {}, "REME_LLM_API_KEY"),
        ):
            answer = await session.call_tool(name, arguments)
            assert field(answer, "isError") is True
            assert told in field(answer, "content")[0]["text"]
            assert field(answer, "structuredContent")["success"] is False


async def test_every_job_is_a_tool_that_says_what_it_may_do(
    opened: Open, writable: Service
) -> None:
    async with opened(writable) as session:
        tools = {tool.name: tool for tool in (await session.list_tools()).tools}
        assert set(tools) == set(jobs())
        for name, tool in tools.items():
            hints = field(tool, "annotations")
            assert hints["readOnlyHint"] is (name in READING_JOBS)
            assert hints["destructiveHint"] is (name in DESTRUCTIVE_JOBS)
            assert tool.description
            assert field(tool, "inputSchema")["additionalProperties"] is False
            assert "success" in field(tool, "outputSchema")["required"]
        assert "words to look for" in json.dumps(field(tools["search"], "inputSchema"))


async def test_progress_reaches_the_client(opened: Open, writable: Service) -> None:
    seen: list[tuple[float, float | None]] = []

    async def tell(progress: float, total: float | None, message: str | None) -> None:
        assert message == "files"
        seen.append((progress, total))

    async with opened(writable) as session:
        for number in range(5):
            card = {"path": f"digest/procedure/{number}.md", "content": f"card {number}"}
            await session.call_tool("write", card)
        await session.call_tool("reindex", {}, progress_callback=tell)
    assert seen
    assert all(total and progress <= total for progress, total in seen)


async def test_a_picture_comes_as_a_picture(opened: Open, writable: Service) -> None:
    async with opened(writable) as session:
        workspace = writable.workspace
        (workspace / "resource/2026-06-20").mkdir(parents=True, exist_ok=True)
        (workspace / "resource/2026-06-20/dot.png").write_bytes(one_pixel())
        shown = await session.call_tool("read_image", {"path": "resource/2026-06-20/dot.png"})
        picture = field(shown, "content")[1]
        assert (picture["type"], picture["mimeType"]) == ("image", "image/png")
        assert base64.b64decode(picture["data"]) == one_pixel()


def test_nothing_but_the_protocol_goes_to_standard_output(folder: Path) -> None:
    (folder / "sitecustomize.py").write_text(
        "import os\n"
        "import agentscope_reme.service.running_jobs as jobs\n"
        "run = jobs.JobRunner.run\n"
        "async def noisy(self, name, arguments):\n"
        "    print('noise', flush=True); os.write(1, b'noise\\n'); os.system('echo noise')\n"
        "    return await run(self, name, arguments)\n"
        "jobs.JobRunner.run = noisy\n",
        encoding="utf-8",
    )
    asked = [
        request(1, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=CLIENT),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        request(2, "tools/call", name="status", arguments={}),
    ]
    process = subprocess.Popen(
        [*COMMAND, "start", "transport=stdio"],
        cwd=folder,
        env=environment(PYTHONPATH=str(folder)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    for message in asked:
        process.stdin.write(json.dumps(message) + "\n")
    process.stdin.flush()
    answers = [json.loads(process.stdout.readline()) for _ in range(2)]
    process.stdin.close()
    rest, said = process.stdout.read(), process.stderr.read()
    assert (process.wait(30), rest) == (0, "")
    assert [answer["id"] for answer in answers] == [1, 2]
    assert said.count("noise") == 3
    process.stdout.close()
    process.stderr.close()


CLIENT = {"name": "test", "version": "0"}


def request(number: int, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def one_pixel() -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    head = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    parts = [(b"IHDR", head), (b"IDAT", zlib.compress(b"\0\xff\0\0")), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts)
