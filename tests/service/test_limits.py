"""Slow heads, slow bodies, too many jobs, callers who leave and jobs that break."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from agentscope_reme import ReMe
from agentscope_reme.jobs import jobs
from agentscope_reme.progress import report_progress
from agentscope_reme.results import SearchResult
from agentscope_reme.service import answers, bodies, patience, running_jobs
from agentscope_reme.service.app import application
from agentscope_reme.service.outcomes import Outcome
from agentscope_reme.service.running_jobs import JobRunner


class Broken(ReMe):
    async def search(self, *_: Any, **__: Any) -> SearchResult:
        raise RuntimeError("the password is hunter2")


class Waiting(ReMe):
    def __init__(self, place: Path) -> None:
        super().__init__(place)
        self.go = asyncio.Event()

    async def search(self, *_: Any, **__: Any) -> SearchResult:
        await self.go.wait()
        return SearchResult()


@contextmanager
def listening(place: Path, reme: ReMe | None = None) -> Iterator[int]:
    """The service without its process: the port it listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        runner = JobRunner(reme or ReMe(place), jobs())
        app = application(runner, host="127.0.0.1", port=port, token=None)
        config = uvicorn.Config(
            app,
            http=patience.PatientProtocol,
            log_config=None,
            ws="none",
            timeout_graceful_shutdown=0,
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            yield port
        finally:
            server.should_exit = True
            thread.join()


def until_closed(port: int, sent: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=30) as wire:
        wire.sendall(sent)
        try:
            return b"".join(iter(lambda: wire.recv(4096), b""))
        except ConnectionResetError:
            return b""


@pytest.mark.parametrize("sent", [b"", b"POST /status HTTP/1.1\r\nHost: 127."])
def test_a_head_that_does_not_arrive_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(patience, "_HEAD_SECONDS", 0.05)
    with listening(tmp_path) as port:
        assert until_closed(port, sent) == b""


@pytest.mark.parametrize("path", ["/status", "/mcp"])
def test_a_body_that_does_not_arrive_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setattr(bodies, "_MOST_SECONDS", 0.05)
    with listening(tmp_path) as port:
        head = [
            f"POST {path} HTTP/1.1",
            f"Host: 127.0.0.1:{port}",
            "Content-Type: application/json",
            "Accept: application/json, text/event-stream",
            "Content-Length: 10",
        ]
        assert b" 408 " in until_closed(port, "\r\n".join([*head, "", "{"]).encode())


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
def test_a_job_that_the_end_of_the_service_cuts_off_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, accept: str
) -> None:
    asked = threading.Event()

    class Asked(Waiting):
        async def search(self, *_: Any, **__: Any) -> SearchResult:
            asked.set()
            return await super().search()

    with socket.socket() as wire:
        wire.settimeout(30)
        with listening(tmp_path, Asked(tmp_path)) as port:
            wire.connect(("127.0.0.1", port))
            head = [
                "POST /search HTTP/1.1",
                f"Host: 127.0.0.1:{port}",
                "Content-Type: application/json",
                f"Accept: {accept}",
                "Content-Length: 14",
            ]
            wire.sendall("\r\n".join([*head, "", '{"query": "a"}']).encode())
            assert asked.wait(30)
        answer = b"".join(iter(lambda: wire.recv(4096), b""))
    if accept == "application/json":
        assert b" 503 " in answer.partition(b"\r\n")[0]
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"] == "Closed"
    assert b"event: result" not in answer
    assert "Traceback" not in caplog.text


async def test_one_job_too_many_is_asked_to_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running_jobs, "_MOST_AT_ONCE", 2)
    reme = Waiting(tmp_path)
    runner = JobRunner(reme, jobs())
    working = [asyncio.create_task(runner.run("search", {"query": "a"})) for _ in range(2)]
    await asyncio.sleep(0)
    assert (await runner.run("search", {"query": "a"})).status == 503
    assert await runner.idle(0) is False
    reme.go.set()
    assert [(await one).status for one in working] == [200, 200]
    assert await runner.idle(0) is True


async def test_a_job_that_breaks_says_nothing_of_its_inside(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        outcome = await JobRunner(Broken(tmp_path), jobs()).run("search", {"query": "a"})
    assert (outcome.status, outcome.result.success) == (500, False)
    assert "hunter2" not in outcome.result.model_dump_json()
    assert "hunter2" in caplog.text


async def test_a_caller_who_leaves_ends_a_streamed_job() -> None:
    ended = asyncio.Event()

    async def work() -> Outcome:
        report_progress(1, 2, "files")
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        raise AssertionError

    events: AsyncIterator[str] = answers._events(work)
    first = await anext(events)
    assert json.loads(first.partition("data: ")[2]) == {"done": 1, "total": 2, "what": "files"}
    await events.aclose()  # type: ignore[attr-defined] # it is a generator
    assert ended.is_set()


async def test_a_silent_job_says_that_it_is_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "_BEAT_SECONDS", 0.01)
    go = asyncio.Event()

    async def work() -> Outcome:
        await go.wait()
        return Outcome(200, SearchResult(answer="done"))

    events = answers._events(work)
    assert (await anext(events)).startswith(":")
    go.set()
    rest = [event async for event in events]
    assert json.loads(rest[-1].partition("data: ")[2])["result"]["answer"] == "done"
