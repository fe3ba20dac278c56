"""Many new files at once, read and cut by helper processes while this one writes the index.

Nearly all of a first index is reading, cutting and counting words, which one process does on one
processor, and in which it makes the objects that its garbage collector then walks through. Helpers
are started as ``python -c``, so a program that uses this library needs no guarded main module, and
nothing is forked. They are told where modules are found and run nothing else at their start: a
``sitecustomize`` may print, or do things twice. Where none can be started, or one fails, the caller
reads the rest itself.
"""

from __future__ import annotations

import contextlib
import os
import queue
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import cycle
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from agentscope_reme.store.bulk_worker import receive, rules, send
from agentscope_reme.store.flat_file import FileRows, FlatFile

FEWEST_FILES: Final = 1000
"""A helper takes a quarter of a second to start, in which 200 files are read."""
_FILES_AT_ONCE: Final = 16
_BYTES_AT_ONCE: Final = 1024 * 1024
_BYTES_ASKED: Final = 32 * 1024 * 1024
"""Of all files that were asked about: their answers, a few times as large, wait in memory."""
_ASKED_AHEAD: Final = 4
"""Questions per helper: so many certainly fit into a pipe."""
_PATIENCE_SECONDS: Final = 60.0
_START_PATIENCE_SECONDS: Final = 20.0
_ENVIRONMENT: Final = {
    "OPENBLAS_NUM_THREADS": "1",  # else one for each processor
    "PYDANTIC_DISABLE_PLUGINS": "1",  # else it reads what every installed package says of itself
}
_WINDOWS_FLAGS: Final[int] = getattr(subprocess, "CREATE_NO_WINDOW", 0) | getattr(
    subprocess, "BELOW_NORMAL_PRIORITY_CLASS", 0
)
_COMMAND: Final = (
    "import sys; sys.path[:] = sys.argv[1:]; "
    "from agentscope_reme.store.bulk_worker import main; main()"
)


class HelperFailed(Exception):
    """A helper did not start, died, or took too long."""


class BulkReader:
    """Reads files in helper processes; a context manager, which ends them.

    Args:
        setting: what `bulk_worker` is told first.
        fingerprint: the rules that the helpers have to follow.
        helpers: how many, at least one.
    """

    def __init__(self, setting: Sequence[object], fingerprint: str, helpers: int) -> None:
        self._setting = tuple(setting)
        self._fingerprint = fingerprint
        self._count = helpers
        self._helpers: list[_Helper] = []

    def __enter__(self) -> BulkReader:
        """Start the helpers.

        Raises:
            HelperFailed: they cannot be started here, or follow other rules.
        """
        try:
            for _ in range(self._count):
                self._helpers.append(_Helper())
            for helper in self._helpers:
                helper.ask(self._setting)
            for helper in self._helpers:
                if helper.answer(_START_PATIENCE_SECONDS) != rules(self._fingerprint):
                    raise HelperFailed("it follows other rules")
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._end()

    def read(self, files: Iterable[tuple[str, int, int]]) -> Iterator[FlatFile | None]:
        """What the index would say about files, in their order.

        Args:
            files: path, modification time in nanoseconds, and size in bytes.

        Yields:
            ``None`` for a file that the caller has to look at: it is gone, cannot be read, or does
            not belong into the index.

        Raises:
            HelperFailed: the files from here on have to be read by the caller.
        """
        helpers = cycle(self._helpers)
        asked: deque[tuple[_Helper, int]] = deque()
        waiting_bytes = 0
        for question, size in _questions(files):
            while asked and (
                len(asked) >= _ASKED_AHEAD * len(self._helpers)
                or waiting_bytes + size > _BYTES_ASKED
            ):
                waiting_bytes -= asked[0][1]
                yield from _answered(asked.popleft()[0])
            helper = next(helpers)
            helper.ask(question)
            asked.append((helper, size))
            waiting_bytes += size
        while asked:
            yield from _answered(asked.popleft()[0])

    def _end(self) -> None:
        for helper in self._helpers:
            helper.end()
        self._helpers.clear()


class _Helper:
    """One helper process, and the thread that takes its answers so that it never waits."""

    def __init__(self) -> None:
        command = [*_python(), "-c", _COMMAND, *_module_places()]
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, **_ENVIRONMENT},
                creationflags=_WINDOWS_FLAGS,
            )
        except (OSError, ValueError, RuntimeError) as error:  # the last: this program is ending
            raise HelperFailed(str(error)) from error
        self._answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._taking = threading.Thread(target=self._take, name="bulk reader", daemon=True)
        try:
            self._taking.start()
        except RuntimeError as error:  # no more threads are allowed
            self._end_process()
            raise HelperFailed(str(error)) from error

    def ask(self, question: tuple[object, ...]) -> None:
        """Hand over a question, which is answered in its turn."""
        try:
            send(self._process.stdin, question)  # type: ignore[arg-type]  # a pipe, as asked for
        except OSError as error:
            raise HelperFailed(str(error)) from error

    def answer(self, patience_seconds: float) -> Any:
        """The next answer."""
        try:
            answer = self._answers.get(timeout=patience_seconds)
        except queue.Empty:
            raise HelperFailed("it takes too long") from None
        if answer is None:
            raise HelperFailed("it ended")
        return answer

    def end(self) -> None:
        """Stop the process, whatever it is doing, and wait for it."""
        self._end_process()
        self._taking.join()

    def _end_process(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):  # a question nobody reads any more
                pipe.close()  # type: ignore[union-attr]

    def _take(self) -> None:
        try:
            while (answer := receive(self._process.stdout)) is not None:  # type: ignore[arg-type]
                self._answers.put(answer)
        except (OSError, ValueError, EOFError, MemoryError):
            pass  # it was ended in the middle of an answer, or says nonsense
        self._answers.put(None)


def _questions(
    files: Iterable[tuple[str, int, int]],
) -> Iterator[tuple[tuple[tuple[str, int], ...], int]]:
    """Files that are asked about together, and how many bytes they have."""
    question: list[tuple[str, int]] = []
    total = 0
    for path, mtime_ns, size in files:
        if question and (len(question) >= _FILES_AT_ONCE or total + size > _BYTES_AT_ONCE):
            yield tuple(question), total
            question, total = [], 0
        question.append((path, mtime_ns))
        total += size
    if question:
        yield tuple(question), total


def _answered(helper: _Helper) -> Iterator[FlatFile | None]:
    for rows in helper.answer(_PATIENCE_SECONDS):
        yield None if rows is None else FlatFile(FileRows(*rows))


def usable_processors() -> int:
    """How many processors this process may use: a container or ``taskset`` may allow fewer."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _module_places() -> list[str]:
    """Where modules are found; this package also where an import hook finds it."""
    places = [place for place in sys.path if isinstance(place, str)]  # as imports do
    return [*places, str(Path(__file__).parents[2])]


def _python() -> tuple[str, ...]:
    """The interpreter, told to run nothing but what it is given, and to write nothing.

    Raises:
        HelperFailed: this program is no Python interpreter, so nobody knows what it would do.
    """
    program = sys.executable or ""
    if getattr(sys, "frozen", False) or not Path(program).name.lower().startswith("python"):
        raise HelperFailed("this program is not run by a Python interpreter")
    return program, "-I", "-S", "-B", "-X", f"utf8={sys.flags.utf8_mode}"
