"""A process that serves one memory: opens it, listens, and ends without cutting anybody off."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from agentscope_reme.errors import StorageFailed
from agentscope_reme.reme import ReMe
from agentscope_reme.service.identity import fresh
from agentscope_reme.service.mcp import McpSide
from agentscope_reme.service.options import ServiceOptions, require_libraries
from agentscope_reme.service.presence import (
    Address,
    announce,
    kept_token,
    only_service,
    token_place,
)
from agentscope_reme.service.running_jobs import JobRunner

_MOST_CONNECTIONS: Final = 128
_IDLE_SECONDS: Final = 15
"""How long an unused connection is kept."""

_LARGEST_HEAD_BYTES: Final = 16 * 1024
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


async def serve(
    reme: ReMe, options: ServiceOptions, *, setup: str = "", tell: Callable[[str], None] = print
) -> None:
    """Serve a memory until the process is asked to end, by SIGTERM, SIGINT or the end of input.

    Jobs that run then have `Settings.close_drain_seconds` to finish.

    Args:
        reme: not started; it is closed in the end.
        options: how.
        setup: names the configuration, for others to compare with theirs.
        tell: is told where the service can be reached.

    Raises:
        BadInput: a library is missing.
        Conflict: the memory has a service already.
        StorageFailed: the port is taken, or the workspace cannot be written.
    """
    require_libraries()
    if options.transport == "stdio":
        await _serve_standard_streams(reme, options)
    else:
        await _serve_http(reme, options, setup, tell)


async def _serve_http(
    reme: ReMe, options: ServiceOptions, setup: str, tell: Callable[[str], None]
) -> None:
    with only_service(reme.workspace), _listening(options) as listener:
        token = kept_token(reme.workspace) if options.token == "file" else None  # noqa: S105
        address = Address(
            host=options.host,
            port=listener.getsockname()[1],
            pid=os.getpid(),
            setup=setup,
            with_token=token is not None,
            secret=fresh(),
        )
        async with reme:
            server = _server(reme, options, address, token)
            announce(reme.workspace, address)
            tell(_told(reme, address))
            await _until_stopped(server, listener)


def _server(reme: ReMe, options: ServiceOptions, address: Address, token: str | None) -> Any:
    import uvicorn

    from agentscope_reme.service.app import application
    from agentscope_reme.service.patience import PatientProtocol

    runner = JobRunner(reme, options.served)
    return uvicorn.Server(
        uvicorn.Config(
            application(
                runner,
                host=address.host,
                port=address.port,
                token=token,
                secret=address.secret,
            ),
            http=PatientProtocol,
            ws="none",
            lifespan="on",
            log_config=None,
            log_level="error",  # whoever sends no HTTP does not get to fill the log
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            limit_concurrency=_MOST_CONNECTIONS,
            timeout_keep_alive=_IDLE_SECONDS,
            timeout_graceful_shutdown=max(1, round(reme.settings.close_drain_seconds)),
            h11_max_incomplete_event_size=_LARGEST_HEAD_BYTES,
        )
    )


async def _until_stopped(server: Any, listener: socket.socket) -> None:
    """Run the server; the signal that ends it ends the process only when the memory is closed.

    A signal that comes before the server looks for signals itself ends it as well.
    """

    def stop() -> None:
        server.should_exit = True

    with _caught_signals(stop):
        await server.serve(sockets=[listener])


async def _serve_standard_streams(reme: ReMe, options: ServiceOptions) -> None:
    runner, stop = JobRunner(reme, options.served), asyncio.Event()
    async with reme:
        speaking = asyncio.create_task(McpSide(runner).serve_standard_streams())
        stopped = asyncio.create_task(stop.wait())
        with _caught_signals(stop.set):
            await asyncio.wait({speaking, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if not speaking.done():
            await runner.idle(reme.settings.close_drain_seconds)
    stopped.cancel()
    if not speaking.done():
        os._exit(0)  # a thread still waits for input, and nothing but its end would wake it
    try:
        speaking.result()
    except* BrokenPipeError:
        pass  # the client died; it is the end of a client, however it comes


@contextmanager
def _caught_signals(stop: Callable[[], object]) -> Iterator[None]:
    if os.name == "nt":  # its loop knows no signals; Ctrl-C raises there
        yield
        return
    loop = asyncio.get_running_loop()
    for one in _SIGNALS:
        loop.add_signal_handler(one, stop)
    try:
        yield
    finally:
        for one in _SIGNALS:
            loop.remove_signal_handler(one)


@contextmanager
def _listening(options: ServiceOptions) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        if os.name != "nt":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((options.host, options.port))
        listener.listen()
    except OSError as error:
        listener.close()
        where = f"{options.host} port {options.port}"
        remedy = "Pass another `port=`, or port=0 for a free one."
        raise StorageFailed(where, f"cannot listen there: {error}", remedy) from error
    try:
        yield listener
    finally:
        listener.close()


def _told(reme: ReMe, address: Address) -> str:
    lines = [f"Serving {reme.workspace.root}", f"  HTTP {address.url}", f"  MCP  {address.url}/mcp"]
    if address.with_token:
        lines.append(f"  The token stands in {token_place(reme.workspace)}")
    else:
        lines.append("  Without a token: every program on this machine may use this memory.")
    return "\n".join([*lines, "  Ctrl-C ends it."])
