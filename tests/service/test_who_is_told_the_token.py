"""The token and what was asked go to the service that is meant, whoever listens in its place."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agentscope_reme.service.client import ask
from agentscope_reme.service.identity import CHALLENGE, PROOF, fresh, is_proven, proof_of
from agentscope_reme.service.presence import Address, found, token_of
from agentscope_reme.workspace import Workspace
from tests.service.conftest import Said
from tests.service.processes import Service, running


@contextmanager
def stranger(port: int = 0, said: bytes = b"") -> Iterator[tuple[int, list[bytes]]]:
    """A program that listens, answers the same to everybody, and keeps what it was told."""
    heard: list[bytes] = []

    def answer() -> None:
        while True:
            try:
                wire, _ = listener.accept()
            except OSError:
                return
            with wire:
                heard.append(wire.recv(65536))
                wire.sendall(said)

    with socket.create_server(("127.0.0.1", port)) as listener:
        thread = threading.Thread(target=answer)
        thread.start()
        yield listener.getsockname()[1], heard
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def address_of(port: int) -> Address:
    return Address(host="127.0.0.1", port=port, pid=1, setup="s", with_token=True, secret=fresh())


def answered(body: bytes, *headers: str) -> bytes:
    head = ["HTTP/1.1 200 OK", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(head).encode() + body


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"SSH-2.0-OpenSSH\r\n",
        b"HTTP/1.1 503 Service Unavailable\r\n\r\nService Unavailable",
        answered(b'{"status":"ok"}'),
        answered(b'{"status":"ok"}', f"{PROOF}: "),
        answered(b'{"status":"ok"}', f"{PROOF}: {'0' * 64}"),
        answered(b'{"status":"ok"}', f"{PROOF}: \xff"),
        answered(b'{"status":"ok"}', f"{PROOF}: {proof_of(fresh(), 'x')}"),
    ],
)
def test_who_does_not_prove_to_be_the_service_is_told_nothing(said: bytes) -> None:
    with stranger(said=said) as (port, heard):
        answer = ask(address_of(port), "the-token", "write", {"content": "zebra"}, print)
    assert answer is None
    assert CHALLENGE.encode() in heard[0]
    assert not [told for told in heard if b"the-token" in told or b"zebra" in told]


def test_the_service_proves_that_it_is_the_one(shared: Service) -> None:
    address = found(Workspace(shared.workspace))
    assert address is not None
    assert ask(address, shared.token, "status", {}, print) is not None
    other = address.model_copy(update={"secret": fresh()})
    assert ask(other, shared.token, "status", {}, print) is None


def test_a_claim_that_somebody_else_holds_proves_nothing(
    folder: Path, command: Callable[..., Said]
) -> None:
    fcntl = pytest.importorskip("fcntl", reason="Windows has other locks")
    with running(folder) as service:
        service.stop(signal.SIGKILL)
    locks = service.workspace / ".locks"
    with open(locks / "claim-service.lock", "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # as whoever looks whether it is taken does
        assert found(Workspace(service.workspace)) is not None
        with stranger(service.port) as (_, heard):
            code, _, said = command(folder, "status")
    assert (code, said) == (0, "")
    assert not [told for told in heard if service.token.encode() in told]


def test_locks_are_held_by_their_owner_only(shared: Service) -> None:
    locks = list((shared.workspace / ".locks").glob("*.lock"))
    assert locks
    assert not [place for place in locks if place.stat().st_mode & 0o077]


@pytest.mark.skipif(os.name == "nt", reason="Windows has other rights")
def test_a_file_others_could_have_written_is_not_believed(
    folder: Path, command: Callable[..., Said]
) -> None:
    with running(folder) as service:
        workspace = Workspace(service.workspace)
        for name in ("service.json", "service.token"):
            place, kept = service.workspace / ".locks" / name, folder / name
            for plant in (world_writable, Path.symlink_to, pipe):
                place.rename(kept)
                plant(place, kept)
                assert name != "service.json" or found(workspace) is None
                assert name != "service.token" or token_of(workspace) == ""
                code, _, said = command(folder, "status")  # done here, and waits for nobody
                assert (code, said) == (0, "")
                kept.replace(place)
        assert found(workspace) is not None


def world_writable(place: Path, kept: Path) -> None:
    place.write_bytes(kept.read_bytes())
    place.chmod(0o666)


def pipe(place: Path, _: Path) -> None:
    os.mkfifo(place)


def test_the_secret_is_told_to_nobody(shared: Service) -> None:
    secret = shared.announced["secret"]
    for headers in ({}, {CHALLENGE: ""}, {CHALLENGE: "a" * 1000}, {CHALLENGE: secret}):
        answer = shared.ask("/health", method="GET", headers={**headers, "Authorization": None})
        assert secret not in json.dumps(dict(answer.headers)) + answer.body.decode()
        assert answer.headers.get(PROOF, "") == proof_of(secret, headers.get(CHALLENGE, ""))
    assert secret not in repr(found(Workspace(shared.workspace)))


def test_nothing_proves_nothing() -> None:
    assert not is_proven("", "challenge", "")
    assert not is_proven("", "challenge", proof_of("", "challenge"))
    assert not is_proven("secret", "", "")
    assert is_proven("secret", "challenge", proof_of("secret", "challenge"))


def test_a_service_that_has_no_room_is_not_waited_for(folder: Path) -> None:
    with running(folder) as service:
        silent = [socket.create_connection(("127.0.0.1", service.port)) for _ in range(130)]
        try:
            address = found(Workspace(service.workspace))
            assert address is not None
            assert ask(address, service.token, "status", {}, print) is None
        finally:
            for wire in silent:
                wire.close()
    assert (folder / "stderr.txt").read_text("utf-8") == ""
