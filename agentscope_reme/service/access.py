"""Who may ask: programs of this machine that know the token, and no web page.

A page in a browser reaches the loopback interface too. It cannot choose its ``Origin``, nor, when a
name of its own is pointed at 127.0.0.1 (DNS rebinding), its ``Host``; both are compared with this
service's own address. No CORS header is ever sent, so a page could not read an answer either.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from agentscope_reme.service.answers import answered
from agentscope_reme.service.outcomes import Outcome, refused

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

OPEN_PATH: Final = "/health"
"""Answers without a token, and says nothing but that it is alive."""

_HEADERS: Final = [
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
]


class Guard:
    """An ASGI application that lets the right callers through to another one.

    Args:
        app: the application behind it.
        host: the address it is served on.
        port: its port.
        token: what a caller has to know; ``None`` lets every program of this machine in.
    """

    def __init__(self, app: ASGIApp, *, host: str, port: int, token: str | None) -> None:
        self._app = app
        names = {"localhost", "127.0.0.1", "[::1]", f"[{host}]" if ":" in host else host}
        self._hosts = {f"{name}:{port}".encode() for name in names}
        if port == 80:
            self._hosts |= {name.encode() for name in names}
        self._origins = {b"http://" + host for host in self._hosts}
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or let it through."""
        if scope["type"] != "http":  # lifespan; web sockets are not served at all
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = {name for name, _ in _HEADERS}
                kept = [pair for pair in message.get("headers", ()) if pair[0].lower() not in own]
                message["headers"] = [*kept, *_HEADERS]
            await send(message)

        refusal = self._refusal(scope["path"], scope["headers"])
        app = self._app if refusal is None else answered(refusal)
        await app(scope, receive, guarded)

    def _refusal(self, path: str, headers: Iterable[tuple[bytes, bytes]]) -> Outcome | None:
        given: dict[bytes, list[bytes]] = {}
        for name, value in headers:
            given.setdefault(name, []).append(value)
        hosts = [host.lower() for host in given.get(b"host", ())]
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            return refused(403, "Forbidden", "The Host header does not name this service.")
        foreign = [o for o in given.get(b"origin", ()) if o.lower() not in self._origins]
        sites = set(given.get(b"sec-fetch-site", ())) - {b"same-origin", b"none"}
        if foreign or sites:
            return refused(403, "Forbidden", "Web pages of other origins may not ask this service.")
        if path != OPEN_PATH and not self._is_known(given.get(b"authorization", [])):
            told = "The header `Authorization: Bearer <token>` is missing or wrong."
            return refused(401, "Unauthorized", told)
        return None

    def _is_known(self, authorizations: list[bytes]) -> bool:
        if self._token is None:
            return True
        if len(authorizations) != 1:
            return False
        scheme, _, token = authorizations[0].partition(b" ")
        matches = hmac.compare_digest(token.strip(), self._token.encode())
        return matches and scheme.lower() == b"bearer"
