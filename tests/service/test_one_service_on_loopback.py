"""A memory has one service, on the loopback interface, and what keeps it from starting is told."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import uvicorn

from agentscope_reme.errors import BadInput
from agentscope_reme.service import options
from agentscope_reme.service.options import ServiceOptions
from agentscope_reme.service.presence import found
from agentscope_reme.service.serving import _until_stopped
from agentscope_reme.workspace import Workspace
from tests.service.conftest import Said
from tests.service.processes import COMMAND, Service, environment, running


def test_a_second_one_is_told_where_the_first_is(
    folder: Path, command: Callable[..., Said]
) -> None:
    with running(folder) as first:
        code, out, said = command(folder, "start", "port=0")
        assert (code, out) == (1, "")
        assert first.url in said
        assert str(first.process.pid) in said


def test_a_taken_port_is_named(folder: Path, command: Callable[..., Said]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, out, said = command(folder, "start", f"port={port}")
        assert (code, out, str(port) in said, "port=0" in said) == (1, "", True, True)


@pytest.mark.parametrize(
    "words",
    [
        ["host=0.0.0.0"],
        ["host=::"],
        ["host=192.168.1.2"],
        ["host=memory.example"],
        ["host="],
        ["port=70000"],
        ["port=-1"],
        ["port=http"],
        ["transport=carrier-pigeon"],
        ["token=secret"],
        ['jobs=["serch"]'],
        ["prot=1"],
    ],
    ids=" ".join,
)
def test_nothing_else_is_served(
    folder: Path, command: Callable[..., Said], words: list[str]
) -> None:
    code, out, said = command(folder, "start", *words)
    assert (code, out) == (2, "")
    assert words[0].partition("=")[0] in said or words[0].partition("=")[2] in said
    assert not (folder / ".reme/.locks/service.json").exists()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.0.0.2"])
def test_every_loopback_address_may_be_chosen(host: str) -> None:
    assert ServiceOptions(host=host).host in ("127.0.0.1", "::1", "127.0.0.2")


def test_a_missing_library_is_named_with_the_way_to_install_it(
    folder: Path, command: Callable[..., Said], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(options, "find_spec", lambda name: None if name == "mcp" else name)
    code, out, said = command(folder, "start")
    assert (code, out) == (2, "")
    assert 'pip install "agentscope-reme[service]"' in said


def test_it_is_served_on_ipv6_too(folder: Path) -> None:
    with running(folder, "host=::1") as service:
        assert f"http://[::1]:{service.port}" in service.told
        assert found(Workspace(service.workspace)) is not None
        with socket.create_connection(("::1", service.port), timeout=10) as wire:
            head = f"GET /health HTTP/1.1\r\nHost: [::1]:{service.port}\r\nConnection: close"
            wire.sendall(f"{head}\r\n\r\n".encode())
            assert b'{"status":"ok"}' in b"".join(iter(lambda: wire.recv(4096), b""))


def test_many_at_once_are_all_answered(shared: Service) -> None:
    with ThreadPoolExecutor(16) as pool:
        asked = [pool.submit(shared.ask, "/search", {"query": "code"}) for _ in range(64)]
    assert {one.result().status for one in asked} <= {200, 503}
    assert [one for one in asked if one.result().status == 200]


def test_connections_that_say_nothing_keep_nobody_out(shared: Service) -> None:
    silent = [socket.create_connection(("127.0.0.1", shared.port), timeout=30) for _ in range(40)]
    try:
        for wire in silent[:20]:
            wire.sendall(b"POST /status HTTP/1.1\r\nHost:")
        assert shared.ask("/health", method="GET").status == 200
    finally:
        for wire in silent:
            wire.close()


def test_the_end_of_input_ends_it_on_standard_streams(folder: Path) -> None:
    process = subprocess.Popen(
        [*COMMAND, "start", "transport=stdio"],
        cwd=folder,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    out, _ = process.communicate("", timeout=60)
    assert (process.returncode, out) == (0, "")


def test_a_signal_ends_it_on_standard_streams(folder: Path) -> None:
    process = subprocess.Popen(
        [*COMMAND, "start", "transport=stdio"],
        cwd=folder,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write('{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
    process.stdin.flush()
    assert process.stdout.readline()
    process.terminate()
    assert process.wait(30) == 0
    process.stdin.close()
    process.stdout.close()


def test_options_are_checked_before_anything_is_done() -> None:
    with pytest.raises(BadInput, match="loopback"):
        ServiceOptions(host="10.0.0.1")


def test_a_signal_in_the_moment_of_the_start_ends_it() -> None:
    """Between the announcement and the server's own look for signals lies a moment."""

    async def application(scope: object, receive: object, send: object) -> None:
        raise AssertionError("nobody asks anything")

    class Asked(uvicorn.Server):
        async def serve(self, sockets: list[socket.socket] | None = None) -> None:
            os.kill(os.getpid(), signal.SIGTERM)
            await super().serve(sockets)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = Asked(uvicorn.Config(application, lifespan="off", log_config=None))
        asyncio.run(asyncio.wait_for(_until_stopped(server, listener), 20))
