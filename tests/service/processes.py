"""Services in processes of their own, as a person starts them."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

COMMAND = [sys.executable, "-m", "agentscope_reme.cli"]


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "REME_LLM_API_KEY": "", **more}


class Reply(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Service:
    """One running service, and how a client of it speaks HTTP."""

    def __init__(self, process: subprocess.Popen[str], workspace: Path, told: str) -> None:
        self.process = process
        self.workspace = workspace
        self.told = told
        self.announced = json.loads((workspace / ".locks/service.json").read_text("utf-8"))
        self.port: int = self.announced["port"]
        self.host = f"127.0.0.1:{self.port}"
        self.url = f"http://{self.host}"
        place = workspace / ".locks/service.token"
        self.token = place.read_text("ascii").strip() if place.exists() else ""

    def ask(
        self,
        path: str,
        body: Any = None,
        *,
        method: str = "POST",
        headers: Mapping[str, str | None] | None = None,
    ) -> Reply:
        """One request; a header that is ``None`` is left out."""
        raw = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        sent: dict[str, str | None] = {"Host": self.host, "Content-Type": "application/json"}
        if self.token:
            sent["Authorization"] = f"Bearer {self.token}"
        sent |= headers or {}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in sent.items():
                if value is not None:
                    connection.putheader(name, value)
            if raw is not None:
                connection.putheader("Content-Length", str(len(raw)))
            connection.endheaders(raw)
            answer = connection.getresponse()
            return Reply(
                answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
            )
        except (
            ConnectionResetError,
            BrokenPipeError,
        ):  # it hung up on what is no HTTP before its answer was read
            return Reply(400, {}, b"")
        finally:
            connection.close()

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(how)
        return self.process.wait(30)


def start(folder: Path, *words: str, **more: str) -> Service:
    """A service that listens already."""
    with open(folder / "stderr.txt", "w", encoding="utf-8") as errors:
        process = subprocess.Popen(
            [*COMMAND, "start", "port=0", *words],
            cwd=folder,
            env=environment(**more),
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    assert process.stdout is not None
    told = ""
    while "ends it" not in told:
        line = process.stdout.readline()
        assert line, (folder / "stderr.txt").read_text("utf-8")
        told += line
    workspace = Path(told.split("\n", 1)[0].removeprefix("Serving "))
    return Service(process, workspace, told)


@contextmanager
def running(folder: Path, *words: str, **more: str) -> Iterator[Service]:
    service = start(folder, *words, **more)
    try:
        yield service
    finally:
        if service.process.poll() is None:
            service.stop()
        assert service.process.stdout is not None
        service.process.stdout.close()


def run(folder: Path, *words: str, said: str = "", **more: str) -> tuple[int, str, str]:
    """The command line beside it."""
    done = subprocess.run(
        [*COMMAND, *words],
        cwd=folder,
        input=said,
        capture_output=True,
        text=True,
        check=False,
        env=environment(**more),
    )
    return done.returncode, done.stdout, done.stderr


def bytes_of(workspace: Path) -> dict[str, bytes]:
    """Every file of a memory that is not derived and no lock."""
    return {
        path.relative_to(workspace).as_posix(): path.read_bytes()
        for path in sorted(workspace.rglob("*"))
        if path.is_file() and path.relative_to(workspace).parts[0] not in ("metadata", ".locks")
    }
