"""Callers who nest without end, do not read, send no HTTP, or die in between."""

from __future__ import annotations

import json
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme.service import patience
from tests.service.processes import COMMAND, Service, bytes_of, environment, running
from tests.service.test_hostile_web import exchanged
from tests.service.test_limits import listening

INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


def nested(depth: int, *, in_lists: bool) -> Any:
    value: Any = "deep"
    for _ in range(depth):
        value = [value] if in_lists else {"a": value}
    return value


@pytest.mark.parametrize("in_lists", [True, False])
@pytest.mark.parametrize("depth", [100, 150, 400, 700])
def test_what_nests_too_deeply_is_refused_by_every_job(
    shared: Service, depth: int, in_lists: bool
) -> None:
    before = bytes_of(shared.workspace)
    deep = nested(depth, in_lists=in_lists)
    for job, arguments in {
        "search": {"query": "code", "filters": {"a": deep}},
        "recall": {"query": "code", "filters": {"a": deep}},
        "write": {"path": "digest/wiki/evil.md", "content": "evil", "metadata": {"a": deep}},
        "auto_memory": {"session_id": "s", "messages": [{"role": "user", "content": deep}]},
    }.items():
        answer = shared.ask(f"/{job}", arguments)
        assert (answer.status, answer.json()["error"]) == (400, "BadInput"), (job, answer.body)
    assert bytes_of(shared.workspace) == before


def test_what_nests_a_little_is_taken(shared: Service) -> None:
    for in_lists in (True, False):
        filters = {"a": nested(50, in_lists=in_lists)}
        assert shared.ask("/search", {"query": "code", "filters": filters}).status == 200


def test_who_does_not_read_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "_READ_SECONDS", 0.05)
    with listening(tmp_path) as port, socket.socket() as wire:
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        wire.settimeout(30)
        wire.connect(("127.0.0.1", port))
        asked = f"GET /openapi.json HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()
        with pytest.raises(OSError, match=r"reset|pipe|aborted"):
            wire.sendall(asked * 100_000)


def test_who_sends_no_http_does_not_fill_the_log(folder: Path) -> None:
    with running(folder) as service:
        host = f"Host: {service.host}\r\n".encode()
        upgrade = b"Connection: Upgrade\r\nUpgrade: websocket\r\nOrigin: https://evil.example\r\n"
        for raw in (
            b"\x16\x03\x01\x02\x00",
            b"GET /health HTTP/1.1\r\n\r\n",
            b"GET /health HTTP/1.1\r\n" + host + upgrade + b"\r\n",
        ):
            exchanged(service, raw)
    assert (folder / "stderr.txt").read_text("utf-8") == ""


def test_a_client_that_dies_at_work_is_the_end_of_a_client(folder: Path) -> None:
    cards = folder / ".reme/digest/wiki"
    cards.mkdir(parents=True)
    for number in range(300):
        (cards / f"{number}.md").write_text(f"card {number}\n", encoding="utf-8")
    process = subprocess.Popen(
        [*COMMAND, "start", "transport=stdio"],
        cwd=folder,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    called = {"name": "reindex", "arguments": {}, "_meta": {"progressToken": "t"}}
    for said in (
        {"id": 0, "method": "initialize", "params": INITIALIZE},
        {"method": "notifications/initialized"},
        {"id": 1, "method": "tools/call", "params": called},
    ):
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **said}) + "\n")
    process.stdin.flush()
    assert "agentscope-reme" in process.stdout.readline()
    assert "progress" in process.stdout.readline()
    process.stdout.close()
    process.stdin.close()
    assert (process.wait(60), process.stderr.read()) == (0, "")
    process.stderr.close()
