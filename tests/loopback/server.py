"""A model provider on 127.0.0.1 that says what a test scripted, over a real socket."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from tests.loopback import dashscope_protocol, openai_protocol
from tests.loopback.answer import Answer
from tests.loopback.script import EmbeddingReply, Reply, Request, Responder, ToolCall

_POLL_SECONDS = 0.02


class LoopbackProvider:
    """OpenAI and DashScope endpoints of one scripted model.

    Use it as a context manager. Chat requests take the next `reply` of the queue, or what the
    `respond_with` function returns; embedding requests are answered by a deterministic function of
    their text unless `embed` scripted something else. A request nobody scripted is answered with
    status 500 and fails the test when the provider is left, and so does a reply nobody asked for.

    Attributes:
        requests: everything that arrived, in order of arrival.
        unscripted: the requests nothing was scripted for.
        base_url: ``http://127.0.0.1:<port>``.
        openai_url: the base address for OpenAI clients.
        dashscope_url: the base address for DashScope's native protocol.
        compatible_url: the base address of DashScope's OpenAI-compatible mode.
    """

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.unscripted: list[Request] = []
        self._replies: deque[Reply] = deque()
        self._embeddings: deque[EmbeddingReply] = deque()
        self._responder: Responder | None = None
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._connections: set[socket.socket] = set()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.provider = self
        self._thread = threading.Thread(
            target=self._server.serve_forever,
            kwargs={"poll_interval": _POLL_SECONDS},
            name="loopback-provider",
            daemon=True,
        )
        self.base_url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self.openai_url = f"{self.base_url}/v1"
        self.dashscope_url = f"{self.base_url}/api/v1"
        self.compatible_url = f"{self.base_url}/compatible-mode/v1"

    def reply(
        self,
        text: str = "",
        *,
        thinking: str = "",
        tool_calls: Sequence[ToolCall | tuple[str, Mapping[str, Any]]] = (),
        structured: Mapping[str, Any] | None = None,
        status: int = 200,
        message: str = "scripted failure",
        retryable: bool = False,
        delay_until: threading.Event | None = None,
        cut_after: int | None = None,
    ) -> Self:
        """Queue one answer of the chat model; arguments as in `Reply`.

        ``tool_calls`` also takes plain ``(name, arguments)`` pairs.
        """
        calls = tuple(
            call if isinstance(call, ToolCall) else ToolCall(call[0], call[1])
            for call in tool_calls
        )
        scripted = Reply(
            text=text,
            thinking=thinking,
            tool_calls=calls,
            structured=structured,
            status=status,
            message=message,
            retryable=retryable,
            delay_until=delay_until,
            cut_after=cut_after,
        )
        with self._lock:
            self._replies.append(scripted)
        return self

    def respond_with(self, responder: Responder) -> Self:
        """Answer every chat request the queue has nothing for with ``responder(request)``.

        ``None`` from the function means: not scripted.
        """
        self._responder = responder
        return self

    def embed(
        self,
        vectors: Sequence[Sequence[float]] = (),
        *,
        status: int = 200,
        message: str = "scripted failure",
        delay_until: threading.Event | None = None,
    ) -> Self:
        """Queue one answer of the embedding endpoints: vectors, or an error."""
        with self._lock:
            self._embeddings.append(EmbeddingReply(vectors, status, message, delay_until))
        return self

    @property
    def chats(self) -> list[Request]:
        """The chat requests among `requests`."""
        return [r for r in self.requests if r.route and "embeddings" not in r.route]

    def assert_clean(self) -> None:
        """Fail when a request was not scripted or a scripted reply was never asked for."""
        with self._lock:
            surprises = [f"{r.method} {r.path} {json.dumps(r.body)[:500]}" for r in self.unscripted]
            left = len(self._replies) + len(self._embeddings)
        if surprises:
            raise AssertionError("unscripted requests:\n" + "\n".join(surprises))
        if left:
            raise AssertionError(f"{left} scripted replies were never asked for")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
        if kind is None:
            self.assert_clean()

    def close(self) -> None:
        """Stop serving, drop open connections and wait for every thread."""
        self._stopping.set()
        self._server.shutdown()
        self._thread.join()
        with self._lock:
            connections = list(self._connections)
        for connection in connections:
            with contextlib.suppress(OSError):  # the other side may have closed it already
                connection.shutdown(socket.SHUT_RDWR)
        self._server.server_close()

    def _answer(self, method: str, path: str, headers: Mapping[str, str], raw: bytes) -> Answer:
        try:
            body = json.loads(raw) if raw else {}
        except ValueError:
            body = {"unparsed": raw.decode("utf-8", "replace")}
        with self._lock:
            request = Request(len(self.requests) + 1, method, path, dict(headers), body)
            self.requests.append(request)
        if request.route is None or method != "POST":
            return self._unscripted(request)
        if "embeddings" in request.route:
            return self._answer_embeddings(request)
        return self._answer_chat(request)

    def _answer_chat(self, request: Request) -> Answer:
        with self._lock:
            reply = self._replies.popleft() if self._replies else None
        if reply is None and self._responder is not None:
            reply = self._responder(request)
        if reply is None:
            return self._unscripted(request)
        self._hold(reply.delay_until)
        if reply.status != 200:
            return _error(request, reply.status, reply.message, retryable=reply.retryable)
        if request.route == "openai-chat":
            return openai_protocol.chat(request, reply)
        return dashscope_protocol.chat(request, reply)

    def _answer_embeddings(self, request: Request) -> Answer:
        with self._lock:
            reply = self._embeddings.popleft() if self._embeddings else EmbeddingReply()
        self._hold(reply.delay_until)
        if reply.status != 200:
            return _error(request, reply.status, reply.message)
        vectors = [list(vector) for vector in reply.vectors] or None
        if request.route == "openai-embeddings":
            return openai_protocol.embeddings(request, vectors)
        return dashscope_protocol.embeddings(request, vectors)

    def _unscripted(self, request: Request) -> Answer:
        with self._lock:
            self.unscripted.append(request)
        return _error(request, 500, f"nothing was scripted for {request.method} {request.path}")

    def _hold(self, event: threading.Event | None) -> None:
        while event is not None and not self._stopping.is_set():
            if event.wait(_POLL_SECONDS):
                return

    def _opened(self, connection: socket.socket) -> None:
        with self._lock:
            self._connections.add(connection)

    def _closed(self, connection: socket.socket) -> None:
        with self._lock:
            self._connections.discard(connection)


def _error(request: Request, status: int, message: str, *, retryable: bool = False) -> Answer:
    if request.route is not None and request.route.startswith("dashscope"):
        return dashscope_protocol.error(request, status, message)
    return openai_protocol.error(status, message, retryable=retryable)


class _Server(ThreadingHTTPServer):
    # server_close() waits for the handlers: a test leaves no thread behind.
    daemon_threads = False
    block_on_close = True
    provider: LoopbackProvider


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def setup(self) -> None:
        self.server.provider._opened(self.request)
        super().setup()

    def finish(self) -> None:
        self.server.provider._closed(self.request)
        # A client that went away in the middle of an answer is part of many tests.
        with contextlib.suppress(ConnectionError):
            super().finish()

    def handle(self) -> None:
        with contextlib.suppress(ConnectionError):
            super().handle()

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self._send(self.server.provider._answer("POST", self.path, dict(self.headers), raw))

    def do_GET(self) -> None:
        self._send(self.server.provider._answer("GET", self.path, dict(self.headers), b""))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing: the requests are recorded instead."""

    def _send(self, answer: Answer) -> None:
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if answer.stream:
            self._send_chunks(answer)
            return
        self.send_header("Content-Length", str(len(answer.parts[0])))
        self.end_headers()
        self.wfile.write(answer.parts[0])

    def _send_chunks(self, answer: Answer) -> None:
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for part in answer.parts:
            self.wfile.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
            self.wfile.flush()
        if answer.cut:
            self.close_connection = True
            return
        self.wfile.write(b"0\r\n\r\n")
