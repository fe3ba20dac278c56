"""The Stop hook of Claude Code: notes that a session has news and leaves the rest to a worker.

Claude Code runs it whenever it has answered, with the event as JSON on standard input::

    python -P -m agentscope_reme.hooks.claude_code_stop --workspace ~/memory

It may also be run by its path. Claude Code waits for it and obeys its exit code, so it is made of
the standard library alone, always exits with 0, says nothing on standard output, and gives up
by itself after `PATIENCE_SECONDS`. A note that was not made costs nothing but time: what
is new is found by comparing the transcript with the memory, so the next event brings it too.

In the workspace it keeps ``.claude_code/queue/``, one note for each session with news, and
``.claude_code/hook.log``.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

PATIENCE_SECONDS: Final = 0.8
SETTLE_SECONDS: Final = 1.0
"""How long the worker waits for the last lines of the transcript and for more events."""

FOLDER: Final = ".claude_code"
QUEUE: Final = "queue"
NOTE: Final = ".json"

_WORKER: Final = "agentscope_reme.hooks.claude_code_worker"
_INSIDE: Final = "REME_CLAUDE_CODE_WORKER"
"""Set for the worker: a model that is itself Claude Code must not announce its own sessions."""

_LOG: Final = "hook.log"
_LARGEST_LOG_BYTES: Final = 1 << 20
_LARGEST_EVENT_BYTES: Final = 1 << 20
_SHOWN: Final = 200


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the hook; returns 0, whatever happens.

    Args:
        arguments: the command line without the program; by default the process's own.
    """
    workspace: Path | None = None
    try:
        options = parsed(arguments)
        _give_up_after(options.patience_seconds)
        if os.environ.get(_INSIDE):
            return 0
        workspace = options.workspace
        place = put_in_queue(workspace, noted(read_event(_standard_input())))
        start_worker(options)
        flush(place)  # last, because a slow disk may take longer than the hook may
    except SystemExit:  # unusable arguments, or a call for help: argparse has told
        return 0
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - it must not stop Claude Code
        log(workspace, f"stop hook: {type(error).__name__}: {error}")
    return 0


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options of the hook and of its worker, paths made absolute.

    Raises:
        SystemExit: they are not usable, or help was asked for.
    """
    parser = argparse.ArgumentParser(description="Remember what was said in Claude Code.")
    given = os.environ.get
    workspace, memory = given("REME_WORKSPACE"), given("REME_MEMORY")
    add = parser.add_argument
    add("--workspace", default=workspace, help="the memory's folder (REME_WORKSPACE)")
    add("--memory", default=memory, help="module:function or file.py:function (REME_MEMORY)")
    add("--python", default=given("REME_PYTHON"), help="runs the worker (REME_PYTHON)")
    add("--settle-seconds", type=float, default=SETTLE_SECONDS, help="wait for more events")
    add("--patience-seconds", type=float, default=PATIENCE_SECONDS, help="then give up")
    options = parser.parse_args(arguments)
    if not options.workspace:
        parser.error("say where the memory is: --workspace DIR, or REME_WORKSPACE=DIR")
    options.workspace = Path(options.workspace).expanduser().absolute()
    where, _, name = (options.memory or "").rpartition(":")
    if where.endswith(".py"):
        options.memory = f"{Path(where).expanduser().absolute()}:{name}"
    return options


def read_event(data: bytes) -> dict[str, Any]:
    """The event as Claude Code sent it.

    Raises:
        ValueError: it is not a JSON object.
    """
    try:
        event = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        event = None
    if not isinstance(event, dict):
        raise ValueError(f"not an event of Claude Code: {data[:_SHOWN]!r}")
    return event


def noted(event: dict[str, Any]) -> dict[str, str]:
    """What the worker has to know of an event: the session, and where its transcript is.

    The transcript names the session: after a resumption the event may carry the id of another.

    Raises:
        ValueError: it names no session.
    """
    path, session_id = event.get("transcript_path"), event.get("session_id")
    if isinstance(path, str) and path.endswith(".jsonl"):
        transcript = Path(path).expanduser().absolute()
        return {"session_id": transcript.stem, "transcript_path": str(transcript)}
    if isinstance(session_id, str) and session_id.strip():
        return {"session_id": session_id}
    raise ValueError(f"the event names no session: {str(event)[:_SHOWN]}")


def put_in_queue(workspace: Path, note: dict[str, str]) -> Path:
    """Write a note, whole or not at all; notes of one session replace each other.

    So a queue that nobody empties stays small.

    Raises:
        OSError: the workspace cannot be written.
    """
    queue = workspace / FOLDER / QUEUE
    queue.mkdir(parents=True, exist_ok=True)
    data = json.dumps(note).encode()
    place = queue / (hashlib.sha256(data).hexdigest()[:32] + NOTE)
    temporary = queue / f".{place.stem}.{os.getpid()}.tmp"
    temporary.write_bytes(data)
    os.replace(temporary, place)
    return place


def flush(place: Path) -> None:
    """Flush a note to the device, unless the worker has it already."""
    with contextlib.suppress(OSError):
        descriptor = os.open(place, os.O_RDWR)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def start_worker(options: argparse.Namespace) -> None:
    """Start a worker that outlives the hook; it ends at once when another one is at work.

    Raises:
        OSError: the interpreter cannot be started.
    """
    python = options.python or sys.executable
    command = [python, "-P", "-m", _WORKER, "--workspace", str(options.workspace)]
    command += ["--settle-seconds", str(options.settle_seconds)]
    command += ["--memory", options.memory] if options.memory else []
    folder = options.workspace / FOLDER
    detached: dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        flags = subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP
        detached = {"creationflags": flags}
    with _opened_log(folder) as output:
        subprocess.Popen(  # noqa: S603 - the command is the person's own
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=folder,
            env={**os.environ, _INSIDE: "1"},
            **detached,
        )


def log(workspace: Path | None, message: str) -> None:
    """Add a line to the hook's log; to standard error when the workspace cannot hold one."""
    line = f"{time.strftime('%Y-%m-%dT%H:%M:%S%z')} {' '.join(message.split())}\n"
    try:
        if workspace is None:
            raise OSError("no workspace")
        with _opened_log(workspace / FOLDER) as output:
            output.write(line.encode("utf-8", "backslashreplace"))
    except OSError:
        with contextlib.suppress(OSError, ValueError, AttributeError):
            sys.stderr.write(line)


def _opened_log(folder: Path) -> Any:
    """The log, open for appending; the one before it is kept when it has grown large."""
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / _LOG
    with contextlib.suppress(OSError):
        if place.stat().st_size > _LARGEST_LOG_BYTES:
            os.replace(place, folder / f"{_LOG}.1")
    return place.open("ab")


def _standard_input() -> bytes:
    return sys.stdin.buffer.read(_LARGEST_EVENT_BYTES) if sys.stdin is not None else b""


def _give_up_after(seconds: float) -> None:
    """End the process, successfully, when standard input or a disk keeps it waiting."""
    watchdog = threading.Timer(seconds, os._exit, args=(0,))
    watchdog.daemon = True
    watchdog.start()


if __name__ == "__main__":
    sys.exit(main())
