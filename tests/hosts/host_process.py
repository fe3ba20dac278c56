"""A host application as a real process, spoken to over HTTP."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import threading
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

_START_SECONDS = 120.0
_ANSWER_SECONDS = 120.0
_POLL_SECONDS = 0.1


def no_outside_network() -> dict[str, str]:
    """Variables that lead every request, except those to this machine, to a closed port."""
    closed = "http://127.0.0.1:9"
    names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    local = {"NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"}
    return {**dict.fromkeys(names, closed), **{n.lower(): closed for n in names}, **local}


class HostProcess:
    """Starts on entering, answers HTTP afterwards, and is stopped on leaving.

    Args:
        command: the program and its arguments; ``{port}`` in them becomes a free port.
        env: the whole environment.
        ready: the path that answers once the host is up.
        log: where its output goes.
    """

    def __init__(
        self, command: Sequence[str], env: Mapping[str, str], *, ready: str, log: Path
    ) -> None:
        self._port = _free_port()
        self._command = [part.format(port=self._port) for part in command]
        self._env = dict(env)
        self._ready = ready
        self.log = log
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        with self.log.open("ab") as output:
            self._process = subprocess.Popen(
                self._command, env=self._env, stdout=output, stderr=output, start_new_session=True
            )
        try:
            self._wait_until_ready()
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> int:
        """End it as a service manager does; returns its exit status."""
        return self._end(signal.SIGTERM)

    def kill(self) -> int:
        """End it as a power cut does."""
        return self._end(signal.SIGKILL)

    def get(self, path: str) -> Any:
        """A JSON document."""
        with urllib.request.urlopen(self._url(path), timeout=_ANSWER_SECONDS) as answer:
            return json.loads(answer.read())

    def post(self, path: str, body: object, headers: Mapping[str, str] | None = None) -> str:
        """The whole text that comes back, of a stream too."""
        request = urllib.request.Request(
            self._url(path),
            json.dumps(body).encode(),
            {"Content-Type": "application/json", **(headers or {})},
        )
        with urllib.request.urlopen(request, timeout=_ANSWER_SECONDS) as answer:
            return str(answer.read().decode())

    def _url(self, path: str) -> str:
        return f"http://127.0.0.1:{self._port}{path}"

    def _wait_until_ready(self) -> None:
        assert self._process is not None
        pause = threading.Event()
        for _ in range(int(_START_SECONDS / _POLL_SECONDS)):
            if self._process.poll() is not None:
                raise RuntimeError(f"the host ended: {self._tail()}")
            try:
                self.get(self._ready)
            except OSError:
                pause.wait(_POLL_SECONDS)
            else:
                return
        raise RuntimeError(f"the host did not answer in {_START_SECONDS} seconds: {self._tail()}")

    def _tail(self) -> str:
        return self.log.read_text(errors="replace")[-3000:]

    def _end(self, signal_number: int) -> int:
        process = self._process
        assert process is not None
        if process.poll() is None:
            os.killpg(process.pid, signal_number)
        try:
            return process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
