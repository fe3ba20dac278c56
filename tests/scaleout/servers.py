"""Real servers on free ports of this machine, started for a test and killed at its end."""

from __future__ import annotations

import ctypes
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Self

HAS_SEEKDB = find_spec("pylibseekdb") is not None and find_spec("pymysql") is not None
HAS_MILVUS = find_spec("milvus_lite") is not None and find_spec("pymilvus") is not None

_PATIENCE_SECONDS = 60.0
_LOOK_SECONDS = 0.05
_PR_SET_PDEATHSIG = 1


class Server:
    """A server process with a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        folder.mkdir(parents=True, exist_ok=True)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def command(self) -> list[str]:
        raise NotImplementedError

    @property
    def environment(self) -> dict[str, str]:
        return dict(os.environ)

    def start(self) -> None:
        """Start, or start again on the same data, and wait until it answers."""
        with (self.folder / "output.txt").open("ab") as output:
            self._process = subprocess.Popen(
                self.command,
                env=self.environment,
                cwd=self.folder,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_die_with_parent,
            )
        self._wait()

    @property
    def process(self) -> int:
        """The id of the process.

        Raises:
            RuntimeError: it does not run.
        """
        if self._process is None:
            raise RuntimeError("the server does not run")
        return self._process.pid

    def kill(self) -> None:
        """SIGKILL to it and its children, if it runs."""
        process, self._process = self._process, None
        if process is not None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def answers(self) -> bool:
        """Whether it is ready."""
        raise NotImplementedError

    def _wait(self) -> None:
        end = time.monotonic() + _PATIENCE_SECONDS
        while not self.answers():
            process = self._process
            if process is None or process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"no server: {(self.folder / 'output.txt').read_text()[-2000:]}")
            time.sleep(_LOOK_SECONDS)


class SeekdbServer(Server):
    """seekdb. It listens on every address and begins without a password, so it gets one at once."""

    user = "root"

    def __init__(self, folder: Path, *, memory: str = "1G") -> None:
        super().__init__(folder)
        self._memory = memory
        self.password = secrets.token_hex(16)
        self._has_password = False

    @property
    def command(self) -> list[str]:
        data = self.folder / "data"
        data.mkdir(exist_ok=True)
        given = {
            "memory_limit": self._memory,
            "datafile_size": "256M",
            "log_disk_size": "2G",
            "cpu_count": "2",
        }
        parameters = [part for k, v in given.items() for part in ("--parameter", f"{k}={v}")]
        return [
            str(_package("pylibseekdb") / "seekdb"),
            "--nodaemon",
            "--port",
            str(self.port),
            "--base-dir",
            str(data),
            *parameters,
        ]

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "LD_LIBRARY_PATH": str(_package("pylibseekdb"))}

    def answers(self) -> bool:
        import pymysql

        password = self.password if self._has_password else ""
        try:
            connection = pymysql.connect(
                host="127.0.0.1", port=self.port, user=self.user, password=password
            )
        except pymysql.MySQLError:
            return False
        with connection, connection.cursor() as cursor:
            if not self._has_password:
                cursor.execute("ALTER USER root IDENTIFIED BY %s", (self.password,))
                self._has_password = True
        return True


class MilvusServer(Server):
    """Milvus Lite, which speaks Milvus' protocol."""

    @property
    def uri(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def command(self) -> list[str]:
        place = Path(sys.executable).parent / "milvus-lite"
        data = str(self.folder / "data")
        return [str(place), "server", "--data-dir", data, "--port", str(self.port)]

    def answers(self) -> bool:
        from pymilvus import MilvusClient
        from pymilvus.exceptions import MilvusException

        try:
            client = MilvusClient(uri=self.uri, timeout=2, dedicated=True)  # a new connection
        except MilvusException:
            return False
        client.close()
        return True


def free_port() -> int:
    """A port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _die_with_parent() -> None:
    """A test process that is killed itself leaves no server behind; Linux only."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _package(name: str) -> Path:
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise RuntimeError(f"{name} is not installed")
    return Path(spec.origin).parent
