"""Web pages, rebound names, huge bodies, tricks in paths: nothing changes and nothing leaks."""

from __future__ import annotations

import signal
import socket
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.service.conftest import SECRET
from tests.service.processes import Service, bytes_of, running

JOBS = {
    "search": {"query": "code"},
    "read": {"path": "digest/wiki/secret.md"},
    "write": {"path": "digest/wiki/evil.md", "content": "evil"},
    "delete": {"path": "digest/wiki/secret.md"},
    "forget": {"path": "digest/wiki/secret.md", "dry_run": False},
}
PAGES: list[dict[str, str | None]] = [
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://127.0.0.1"},
    {"Origin": "http://localhost:80"},
    {"Origin": "file://"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Host": "evil.example"},
    {"Host": "evil.example:PORT"},
    {"Host": "127.0.0.1"},
    {"Host": "127.0.0.1.evil.example:PORT"},
    {"Host": "127.0.0.1:PORT@evil.example"},
    {"Host": "0.0.0.0:PORT"},
    {"Host": ""},
    {"Host": None},
]
STRANGERS: list[dict[str, str | None]] = [
    {"Authorization": None},
    {"Authorization": ""},
    {"Authorization": "Bearer"},
    {"Authorization": "Bearer wrong"},
    {"Authorization": "Bearer TOKEN-and-more"},
    {"Authorization": "Basic TOKEN"},
    {"Authorization": "TOKEN"},
    {"Authorization": "Bearer ü"},
]


def as_sent(service: Service, headers: dict[str, str | None]) -> dict[str, str | None]:
    def put(value: str | None) -> str | None:
        known = {"PORT": str(service.port), "TOKEN": service.token}
        for mark, text in known.items():
            value = value and value.replace(mark, text)
        return value

    return {name: put(value) for name, value in headers.items()}


@pytest.mark.parametrize("headers", [*PAGES, *STRANGERS], ids=str)
def test_neither_pages_nor_strangers_reach_a_job(
    shared: Service, headers: dict[str, str | None]
) -> None:
    before = bytes_of(shared.workspace)
    for path in [*JOBS, "mcp"]:
        answer = shared.ask(f"/{path}", JOBS.get(path, {}), headers=as_sent(shared, headers))
        assert answer.status in (400, 401, 403)
        assert SECRET.encode() not in answer.body
        assert shared.token.encode() not in answer.body
        assert not [name for name in answer.headers if name.startswith("access-control")]
    assert bytes_of(shared.workspace) == before


def test_own_pages_and_other_spellings_of_this_machine_may_ask(shared: Service) -> None:
    for headers in ({"Origin": shared.url}, {"Host": f"localhost:{shared.port}"}):
        assert shared.ask("/status", {}, headers=headers).status == 200


def test_a_preflight_is_granted_nothing(shared: Service) -> None:
    asked = {
        "Origin": "https://evil.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type, authorization",
        "Authorization": None,
    }
    answer = shared.ask("/write", method="OPTIONS", headers=asked)
    assert answer.status == 403
    assert not [name for name in answer.headers if name.startswith("access-control")]


def test_two_hosts_or_two_tokens_are_none(shared: Service) -> None:
    right, wrong = f"Host: {shared.host}", "Host: evil.example"
    token = f"Authorization: Bearer {shared.token}"
    for doubled in ([right, wrong, token], [right, token, "Authorization: Bearer x"]):
        head = ["POST /status HTTP/1.1", *doubled, "Content-Type: application/json"]
        answer = exchanged(shared, "\r\n".join([*head, "Content-Length: 2", "", "{}"]).encode())
        assert answer.split(b" ", 2)[1] in (b"400", b"401", b"403")
        assert b"root" not in answer


@pytest.mark.parametrize(
    "path",
    [
        "/../status",
        "/..%2fstatus",
        "/%2e%2e/status",
        "//status",
        "/status%00",
        "/status/../write",
        "/.locks/service.token",
        "/digest/wiki/secret.md",
        "/__init__",
        "/start",
        "/close",
        "/_engine",
        "/mcp/../status",
        "/" + "a" * 4000,
    ],
)
def test_paths_lead_to_jobs_or_nowhere(shared: Service, path: str) -> None:
    answer = shared.ask(path, {})
    assert (answer.status, answer.json()["success"]) == (404, False)


@pytest.mark.parametrize(
    "path",
    [
        "../outside.md",
        "digest/../../outside.md",
        "/etc/passwd",
        "~/x.md",
        ".locks/service.token",
        "journal/2026-06.jsonl",
        "metadata/CURRENT",
        "digest/\0.md",
        "digest/con.md",
        "file:///etc/passwd",
        "users/ann/digest/a.md",
    ],
)
def test_arguments_stay_inside_the_memory(shared: Service, path: str) -> None:
    before = bytes_of(shared.workspace)
    for job, arguments in {
        "read": {"path": path},
        "write": {"path": path, "content": "evil"},
        "move": {"src": "digest/wiki/secret.md", "dst": path},
        "delete": {"path": path},
    }.items():
        answer = shared.ask(f"/{job}", arguments)
        assert answer.status == 400, (job, answer.body)
        assert shared.token.encode() not in answer.body
    assert bytes_of(shared.workspace) == before


def test_a_body_that_is_too_large_is_refused_while_it_arrives(shared: Service) -> None:
    head = [
        "POST /write HTTP/1.1",
        f"Host: {shared.host}",
        f"Authorization: Bearer {shared.token}",
        "Content-Type: application/json",
    ]
    announced = "\r\n".join([*head, f"Content-Length: {10**12}", "", ""]).encode()
    assert b" 413 " in exchanged(shared, announced)
    with socket.create_connection(("127.0.0.1", shared.port), timeout=30) as wire:
        wire.sendall("\r\n".join([*head, "Transfer-Encoding: chunked", "", ""]).encode())
        part = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        try:
            for _ in range(400):  # 25 MB, were it all taken
                wire.sendall(part)
        except OSError:
            pass  # it hung up, as it should
        else:
            assert b" 413 " in wire.recv(1000)
    assert shared.ask("/status", {}).status == 200


def test_a_caller_who_leaves_in_between_leaves_no_trace(folder: Path) -> None:
    with running(folder) as service:
        for path in ("/write", "/mcp"):
            head = [
                f"POST {path} HTTP/1.1",
                f"Host: {service.host}",
                f"Authorization: Bearer {service.token}",
                "Content-Type: application/json",
                "Accept: application/json, text/event-stream",
                "Content-Length: 100",
            ]
            with socket.create_connection(("127.0.0.1", service.port), timeout=30) as wire:
                wire.sendall("\r\n".join([*head, "", '{"path": ']).encode())
        assert service.ask("/health", method="GET").status == 200
        assert service.stop(signal.SIGINT) == 0
    assert (folder / "stderr.txt").read_text("utf-8") == ""


def test_a_head_that_is_too_large_is_refused(shared: Service) -> None:
    answer = exchanged(shared, b"GET /health HTTP/1.1\r\nX: " + b"a" * 100_000)
    assert b" 400 " in answer or answer == b""
    assert shared.ask("/health", method="GET").status == 200


@pytest.mark.parametrize(
    "raw",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET /health HTTP/1.1\r\n\r\n",
        b"GET http://evil.example/health HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        b"POST /status HTTP/1.1\r\nHost: HOST\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        b"POST /status HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\n"
        b"Content-Length: 2\r\n\r\n{}",
        b"GET /health HTTP/1.1\r\nHost: HOST\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        b"Origin: https://evil.example\r\n\r\n",
    ],
)
def test_what_is_no_request_is_no_request(shared: Service, raw: bytes) -> None:
    answer = exchanged(shared, raw.replace(b"HOST", shared.host.encode()))
    assert not answer.startswith(b"HTTP/1.1 2")
    assert not answer.startswith(b"HTTP/1.1 101")
    assert shared.ask("/health", method="GET").status == 200


def test_only_the_loopback_interface_listens(shared: Service) -> None:
    own = socket.gethostbyname(socket.gethostname())
    if own.startswith("127."):
        own = "127.0.0.2"  # also loopback, and not where it listens
    with pytest.raises(OSError, match=r"refused|timed out"):
        socket.create_connection((own, shared.port), timeout=5)


def test_the_token_is_told_to_nobody(folder: Path) -> None:
    with running(folder) as service:
        service.ask("/status", {})
        service.ask("/status", {}, headers={"Authorization": "Bearer wrong"})
        exchanged(service, f"GET /{quote(service.token)} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        for name in ("service.json", "service.token"):
            assert (service.workspace / ".locks" / name).stat().st_mode & 0o077 == 0
        assert service.stop() == 0
        assert service.process.stdout is not None
        said = service.told + service.process.stdout.read()
        assert service.token not in said + (folder / "stderr.txt").read_text("utf-8")


def test_a_token_others_could_read_is_replaced(folder: Path) -> None:
    with running(folder) as first:
        token = first.token
    place = folder / ".reme/.locks/service.token"
    with running(folder) as second:
        assert second.token == token  # so that clients are set up once
    place.chmod(0o644)
    with running(folder) as third:
        assert third.token not in ("", token)
        assert place.stat().st_mode & 0o077 == 0


def test_without_a_token_pages_are_refused_all_the_same(folder: Path) -> None:
    with running(folder, "token=none") as service:
        assert service.token == ""
        assert "every program on this machine" in service.told
        assert service.ask("/status", {}).status == 200
        for headers in PAGES:
            assert service.ask("/status", {}, headers=as_sent(service, headers)).status in (
                400,
                403,
            )
        assert service.ask("/status", {}, headers={"Content-Type": "text/plain"}).status == 415


def exchanged(service: Service, raw: bytes) -> bytes:
    """What comes back for bytes that no client of HTTP would send."""
    answer = b""
    with socket.create_connection(("127.0.0.1", service.port), timeout=30) as wire:
        wire.sendall(raw)
        wire.shutdown(socket.SHUT_WR)
        try:
            while part := wire.recv(65536):
                answer += part
        except ConnectionResetError:
            pass
    return answer
