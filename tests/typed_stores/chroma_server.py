"""A real Chroma server in a process of its own."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def chroma_served(folder: Path) -> Iterator[int]:
    """Its port on loopback, while this lasts."""
    program = Path(sys.executable).with_name("chroma")
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    options = ["--path", str(folder), "--host", "127.0.0.1", "--port", str(port)]
    command = [str(program if program.exists() else shutil.which("chroma")), "run", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if "listening" in line:
                break
        # It tells of every request, and would wait for a reader once the pipe is full.
        reader = threading.Thread(target=process.stdout.read)
        reader.start()
        try:
            yield port
        finally:
            process.terminate()
            reader.join()
