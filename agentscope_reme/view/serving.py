"""The page on the loopback interface: read only, and for whoever knows its address.

The address holds a secret, so that other people of the machine and other pages of the browser
cannot guess it; the Host header is checked, so that no foreign name can stand for this machine.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
import sys
import threading
from concurrent.futures import CancelledError
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from agentscope_reme.errors import BadInput, ReMeError, StorageFailed
from agentscope_reme.reme import ReMe
from agentscope_reme.view.page_file import page_of

_HOST: Final = "127.0.0.1"
_SECRET_BYTES: Final = 18
_PATIENCE_SECONDS: Final = 10
"""How long a browser may take to say what it wants."""
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a browser that went away, nor of a page the end of the server stopped."""
        if not isinstance(sys.exc_info()[1], OSError | CancelledError):
            super().handle_error(request, client_address)


class PageServer:
    """Serves the page of a memory, made anew for every look at it.

    Args:
        reme: the memory; used in the event loop this is made in.
        port: where; 0 lets the system choose.

    Raises:
        BadInput: there is no such port.
        StorageFailed: it is taken.
    """

    def __init__(self, reme: ReMe, port: int = 0) -> None:
        self._reme = reme
        self._loop = asyncio.get_running_loop()
        self._secret: Final = secrets.token_urlsafe(_SECRET_BYTES)
        try:
            self._server = _Server((_HOST, port), self._handler())
        except OverflowError as error:
            raise BadInput(port, "there is no such port", "Pass one up to 65535.") from error
        except OSError as error:
            raise StorageFailed(
                port, f"the port cannot be used: {error.strerror}", "Pass another port=, or 0."
            ) from error
        self._thread = threading.Thread(target=self._server.serve_forever, name="memory page")

    @property
    def address(self) -> str:
        """What to open in a browser."""
        return f"http://{_HOST}:{self._port}/{self._secret}"

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def close(self) -> None:
        """Answer no more."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def _port(self) -> int:
        return int(self._server.server_address[1])

    def _page(self) -> bytes:
        made = asyncio.run_coroutine_threadsafe(page_of(self._reme), self._loop)
        return made.result()[0]

    def _is_known(self, host: str | None, path: str) -> bool:
        hosts = (f"{_HOST}:{self._port}", f"localhost:{self._port}")
        given, right = path.encode("utf-8", "replace"), f"/{self._secret}".encode()
        return host in hosts and hmac.compare_digest(given, right)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            timeout = _PATIENCE_SECONDS
            server_version, sys_version = "memory", ""

            def do_GET(self) -> None:
                if not server._is_known(self.headers.get("Host"), self.path):
                    self._answer(404, b"Nothing here.", "text/plain")
                    return
                try:
                    self._answer(200, server._page(), "text/html")
                except ReMeError as error:
                    server._reme.report_failure("view", error)
                    self._answer(500, b"The memory cannot be read.", "text/plain")

            def _answer(self, status: int, body: bytes, kind: str) -> None:
                self.send_response(status)
                for name, value in _HEADERS.items():
                    self.send_header(name, value)
                self.send_header("Content-Type", f"{kind}; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Say nothing: the address is a secret."""

        return Handler
