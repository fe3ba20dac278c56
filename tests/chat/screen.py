"""A real terminal: a process of its own behind a pseudo-terminal, and what its screen shows."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import pexpect
import pyte

HANGS_SECONDS = 90.0
_LOOK_SECONDS = 0.05

CTRL_C = "\x03"
CTRL_D = "\x04"
ENTER = "\r"


class Screen:
    """``agentscope-reme chat`` in a terminal of a given size."""

    def __init__(
        self,
        folder: Path,
        environ: Mapping[str, str],
        *words: str,
        columns: int = 80,
        rows: int = 50,
        prefix: tuple[str, ...] = (),
    ) -> None:
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        command = [*prefix, "-m", "agentscope_reme", "chat", *words]
        self.child = pexpect.spawn(
            sys.executable,
            command,
            cwd=folder,
            env={**os.environ, "PROMPT_TOOLKIT_NO_CPR": "1", "TERM": "xterm-256color", **environ},
            dimensions=(rows, columns),
            timeout=HANGS_SECONDS,
        )
        self.everything = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.child.close(force=True)

    @property
    def text(self) -> str:
        """What stands on the screen; wide characters without the gaps a terminal puts in."""
        rows = []
        for number in range(self._screen.lines):
            row = self._screen.buffer[number]
            rows.append("".join(row[at].data for at in range(self._screen.columns)).rstrip())
        return "\n".join(rows).rstrip()

    def type(self, text: str) -> None:
        """Press keys."""
        self.child.send(text)

    def enter(self, text: str) -> None:
        """Type a line."""
        self.child.send(text + ENTER)

    def paste(self, text: str) -> None:
        """Paste, as terminals that know bracketed paste do it."""
        self.child.send(f"\x1b[200~{text}\x1b[201~")

    def wait(self, text: str, *, times: int = 1) -> str:
        """Read until a text stands on the screen so many times; what stands there."""
        end = time.monotonic() + HANGS_SECONDS
        while self.text.count(text) < times:
            if time.monotonic() > end or not self._read():
                raise AssertionError(f"{text!r} is not on the screen:\n{self.text}")
        return self.text

    def ended(self) -> int:
        """Read to the end; the exit code."""
        while self._read():
            pass
        self.child.wait()
        code = self.child.exitstatus
        return -1 if code is None else int(code)

    def kill(self) -> None:
        """SIGKILL, as a power cut would."""
        self.child.kill(signal.SIGKILL)
        self.child.wait()

    def _read(self) -> bool:
        try:
            data = self.child.read_nonblocking(65_536, timeout=_LOOK_SECONDS)
        except pexpect.TIMEOUT:
            return self.child.isalive() is True
        except pexpect.EOF:
            return False
        self.everything += data
        self._stream.feed(data)
        return True
