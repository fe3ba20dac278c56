"""The HTTP side: ``POST /<job>``, ``GET /health``, ``GET /openapi.json``, and MCP at ``/mcp``."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

from agentscope_reme.service.access import OPEN_PATH, Guard
from agentscope_reme.service.answers import EVENT_STREAM, answered, streamed
from agentscope_reme.service.bodies import BadBody, arguments_in
from agentscope_reme.service.identity import CHALLENGE, PROOF, proof_of
from agentscope_reme.service.mcp import McpSide
from agentscope_reme.service.openapi import openapi
from agentscope_reme.service.outcomes import refused
from agentscope_reme.service.running_jobs import JobRunner

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_MCP_PATH: Final = "/mcp"


def application(
    runner: JobRunner, *, host: str, port: int, token: str | None, secret: str = ""
) -> ASGIApp:
    """The whole HTTP side as an ASGI application, guarded.

    Args:
        runner: runs the jobs.
        host: the address it is served on.
        port: its port.
        token: what callers have to know.
        secret: proves to those who know it that this is the service they look for.
    """
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.requests import ClientDisconnect
    from starlette.routing import Route

    mcp = McpSide(runner)
    document = openapi(runner.served, version=version("agentscope-reme"), with_token=bool(token))

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with mcp.running():
            yield

    app = Starlette(
        routes=[
            Route(OPEN_PATH, _health(secret), methods=["GET"]),
            Route("/openapi.json", _json(document), methods=["GET"]),
            Route(_MCP_PATH, mcp),
            Route("/{job}", _job(runner), methods=["POST"]),
        ],
        exception_handlers={
            HTTPException: _refuse_route,
            BadBody: _refuse_body,
            ClientDisconnect: _tell_nobody,
        },
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    return Guard(_told_of_the_end(app), host=host, port=port, token=token)


def _told_of_the_end(app: ASGIApp) -> ASGIApp:
    """Tells callers whose jobs the end of the service cut off; nothing else cancels a request."""

    async def called(scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def watched(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await app(scope, receive, watched)
        except asyncio.CancelledError:
            if scope["type"] != "http":
                raise
            if not begun:
                told = "The service ended before this was done. See `history` for what was."
                await answered(refused(503, "Closed", told))(scope, receive, send)

    return called


def _json(content: dict[str, Any]) -> Callable[[Request], Any]:
    from starlette.responses import JSONResponse

    async def endpoint(_: Request) -> Response:
        return JSONResponse(content)

    return endpoint


def _health(secret: str) -> Callable[[Request], Any]:
    from starlette.responses import JSONResponse

    async def endpoint(request: Request) -> Response:
        proof = proof_of(secret, request.headers.get(CHALLENGE, ""))
        return JSONResponse({"status": "ok"}, headers={PROOF: proof} if proof else None)

    return endpoint


def _job(runner: JobRunner) -> Callable[[Request], Any]:
    async def endpoint(request: Request) -> Response:
        arguments = await arguments_in(request)
        name: str = request.path_params["job"]
        if EVENT_STREAM in request.headers.get("accept", ""):
            return streamed(lambda: runner.run(name, arguments))
        return answered(await runner.run(name, arguments))

    return endpoint


async def _refuse_route(_: Request, error: Exception) -> Response:
    from starlette.exceptions import HTTPException

    status = error.status_code if isinstance(error, HTTPException) else 500
    told = {404: "There is nothing here; jobs are asked by POST /<job>."}
    answer = told.get(status, "Jobs are asked by POST, /health and /openapi.json by GET.")
    response = answered(refused(status, "NoSuchJob" if status == 404 else "NoSuchMethod", answer))
    response.headers.update(getattr(error, "headers", None) or {})
    return response


async def _refuse_body(_: Request, error: Exception) -> Response:
    if not isinstance(error, BadBody):
        raise error
    return answered(error.outcome)


async def _tell_nobody(_: Request, __: Exception) -> Response:
    """For a caller who left before the body was there."""
    return answered(refused(400, "BadInput", "The body did not arrive."))
