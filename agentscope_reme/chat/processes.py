"""Commands in a process group of their own: limited in time and output, killed whole."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

_HEAD_BYTES: Final = 12_000
_TAIL_BYTES: Final = 12_000
"""What a model is shown of an output: enough for most, and the ends say the most."""

_PIECE: Final = 65_536
_LOOK_SECONDS: Final = 0.01
_LAST_WORDS_SECONDS: Final = 0.5
"""How long output is waited for after its process has ended: a child may hold the pipe."""

_WATCHER: Final = (
    '( (exec {source} || exit; read -r _; kill -KILL 0) >/dev/null 2>&1 & ); {close}exec "$@"'
)
"""The watcher is no child of the program: one that waits for all its children would never end."""

_OURS: Final = ("REME_", "EMBEDDING_", "TAVILY_")
_KEY: Final = "_API_KEY"


@dataclass(slots=True)
class Output:
    """What was written, its middle left out when there is too much of it."""

    _head: bytearray = field(default_factory=bytearray)
    _tail: bytearray = field(default_factory=bytearray)
    _size: int = 0

    def add(self, data: bytes) -> None:
        """Take a piece in."""
        self._size += len(data)
        room = _HEAD_BYTES - len(self._head)
        self._head += data[:room]
        self._tail += data[max(0, room) :]
        del self._tail[:-_TAIL_BYTES]

    @property
    def text(self) -> str:
        """As text; the place where something is missing says how much."""
        missing = self._size - len(self._head) - len(self._tail)
        if not missing:
            return (self._head + self._tail).decode("utf-8", "replace")
        head, tail = (part.decode("utf-8", "replace") for part in (self._head, self._tail))
        return f"{head}\n[... {missing} of {self._size} bytes left out ...]\n{tail}"


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended.

    Attributes:
        output: what it wrote to standard output and standard error, as they came.
        code: its exit code; negative for a signal; ``None`` when it was out of time.
    """

    output: str
    code: int | None


async def run(
    words: Sequence[str],
    *,
    folder: Path,
    environ: Mapping[str, str],
    seconds: float,
    said: bytes | None = None,
) -> Ended:
    """Run a program to its end, or to the end of its time; what it started ends with it.

    Where there are process groups, it also ends with this process, even one that was killed.

    Args:
        words: the program and its arguments.
        folder: where it runs.
        environ: its whole environment.
        seconds: the most it may take.
        said: its standard input; empty without it.

    Raises:
        OSError: it cannot be started.
    """
    with _watched(words) as (watched, inherited):
        process = await asyncio.create_subprocess_exec(
            *watched,
            cwd=folder,
            env=dict(environ),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
            pass_fds=inherited,
        )
        return await _to_its_end(process, seconds, said)


async def _to_its_end(
    process: asyncio.subprocess.Process, seconds: float, said: bytes | None
) -> Ended:
    output = Output()
    reading = asyncio.create_task(_read(process, output))
    code: int | None = None
    try:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await _feed(process, said)
                code = await _ended(process)
    finally:
        _kill_group(process)
        await asyncio.wait({reading}, timeout=_LAST_WORDS_SECONDS)
        reading.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await reading
    return Ended(output.text, code)


@contextlib.contextmanager
def _watched(words: Sequence[str]) -> Iterator[tuple[Sequence[str], Sequence[int]]]:
    """The program behind a shell that first leaves a watcher in its process group.

    This process holds the only writing end of a pipe. Whatever ends this process closes it, and
    the watcher, which reads the other end, kills the group it shares with the program. No signal
    at a parent's death would do: it reaches a child, not what the child has started.
    """
    shell = shutil.which("bash")
    if not hasattr(os, "killpg"):
        yield words, ()
        return
    reading, writing = os.pipe()
    # Only bash takes a descriptor of two digits; the others open it by its name.
    source = f"<&{reading}" if shell else f"</dev/fd/{reading}"
    close = f"exec {reading}<&-; " if shell else ""
    try:
        script = _WATCHER.format(source=source, close=close)
        yield (shell or "/bin/sh", "-c", script, "watched", *words), (reading,)
    finally:
        os.close(reading)
        os.close(writing)


def without_secrets(environ: Mapping[str, str]) -> dict[str, str]:
    """An environment for programs a model asked for: the keys of models are not in it."""
    return {
        name: value
        for name, value in environ.items()
        if not name.startswith(_OURS) and not name.endswith(_KEY)
    }


async def _ended(process: asyncio.subprocess.Process) -> int:
    """The exit code; asyncio's own `wait` would also wait for children that hold the output."""
    while process.returncode is None:  # noqa: ASYNC110 - nothing tells of the exit alone
        await asyncio.sleep(_LOOK_SECONDS)
    return process.returncode


async def _feed(process: asyncio.subprocess.Process, said: bytes | None) -> None:
    stream = process.stdin
    if stream is None:
        return
    with contextlib.suppress(ConnectionError):  # it does not care to read
        if said:
            stream.write(said)
            await stream.drain()
        stream.close()


async def _read(process: asyncio.subprocess.Process, output: Output) -> None:
    stream = process.stdout
    while stream is not None and (data := await stream.read(_PIECE)):
        output.add(data)


def _kill_group(process: asyncio.subprocess.Process) -> None:
    """End the process and everything it has started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        elif process.returncode is None:
            process.kill()
