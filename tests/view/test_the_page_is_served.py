"""On loopback, for whoever knows the address, and only to be read."""

from __future__ import annotations

import asyncio
import http.client
import os
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from agentscope_reme import ReMe
from agentscope_reme.errors import BadInput, StorageFailed
from agentscope_reme.view.serving import PageServer


@pytest.fixture
async def server(lived_in: ReMe) -> AsyncIterator[PageServer]:
    running = PageServer(lived_in)
    running.start()
    yield running
    await asyncio.to_thread(running.close)


async def asked(
    server: PageServer, path: str | None = None, method: str = "GET", **headers: str
) -> tuple[int, bytes, dict[str, str]]:
    """Status, body and headers of an answer."""
    where = urlsplit(server.address)

    def ask() -> tuple[int, bytes, dict[str, str]]:
        link = http.client.HTTPConnection("127.0.0.1", where.port, timeout=30)
        link.request(method, where.path if path is None else path, headers=headers)
        answer = link.getresponse()
        body = answer.read()
        link.close()
        return answer.status, body, dict(answer.getheaders())

    return await asyncio.to_thread(ask)


async def test_every_look_shows_the_memory_as_it_is(server: PageServer, lived_in: ReMe) -> None:
    status, first, headers = await asked(server)
    assert (status, headers["Cache-Control"]) == (200, "no-store")
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    await lived_in.write("digest/wiki/new.md", "New.\n")
    assert (await asked(server))[1] != first


@pytest.mark.parametrize(
    "path", ["/", "/wrong", "/../metadata", "/%2e%2e/", "//x", "/" + "x" * 5000]
)
async def test_who_does_not_know_the_address_sees_nothing(server: PageServer, path: str) -> None:
    status, body, _ = await asked(server, path)
    assert status == 404
    assert b"zebra" not in body.lower()


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", ""])
async def test_a_foreign_name_for_this_machine_sees_nothing(server: PageServer, host: str) -> None:
    assert (await asked(server, Host=host))[0] == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE"])
async def test_nothing_can_be_done_but_looking(server: PageServer, method: str) -> None:
    status, body, headers = await asked(server, method=method)
    assert status == 501
    assert "Access-Control-Allow-Origin" not in headers
    assert b"zebra" not in body.lower()


async def test_it_listens_on_this_machine_only(server: PageServer) -> None:
    assert urlsplit(server.address).hostname == "127.0.0.1"
    assert server._server.server_address[0] == "127.0.0.1"


async def test_a_port_that_is_taken_is_told(lived_in: ReMe) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(StorageFailed, match="port"):
            PageServer(lived_in, taken.getsockname()[1])


def test_on_the_command_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "agentscope_reme.cli"]
    env = {**os.environ, "PYTHONUNBUFFERED": "1"}
    write = ["write", "path=daily/2026-06-19/a.md", "content=Zebra"]
    subprocess.run([*command, *write], cwd=tmp_path, env=env, check=True, capture_output=True)
    made = subprocess.run(
        [*command, "view"], cwd=tmp_path, env=env, check=True, capture_output=True
    )
    assert b"memory.html" in made.stdout
    assert (tmp_path / "memory.html").read_bytes().startswith(b"<!doctype html>")
    serving = subprocess.Popen(
        [*command, "view", "serve=true"], cwd=tmp_path, env=env, stdout=subprocess.PIPE, text=True
    )
    assert serving.stdout is not None
    where = urlsplit(next(w for w in serving.stdout.readline().split() if w.startswith("http")))
    link = http.client.HTTPConnection("127.0.0.1", where.port, timeout=30)
    link.request("GET", where.path)
    assert link.getresponse().status == 200
    serving.send_signal(signal.SIGINT)
    assert serving.wait(timeout=30) == 0
    serving.stdout.close()


async def test_a_port_there_is_not(lived_in: ReMe) -> None:
    for port in (70_000, -1):
        with pytest.raises(BadInput, match="no such port"):
            PageServer(lived_in, port)


async def test_nobody_hears_of_a_browser_that_went_away(
    server: PageServer, capfd: pytest.CaptureFixture[str]
) -> None:
    port = urlsplit(server.address).port

    def leave() -> None:
        link = socket.create_connection(("127.0.0.1", port))
        link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        link.send(b"GET /")
        link.close()  # with a reset

    await asyncio.to_thread(leave)
    assert (await asked(server))[0] == 200  # it was accepted later, so the other is done with
    await asyncio.to_thread(server.close)
    assert "Traceback" not in capfd.readouterr().err
