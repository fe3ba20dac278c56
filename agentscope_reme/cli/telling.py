"""What is printed: answers on standard output, refusals on standard error, JSON where asked for."""

from __future__ import annotations

import json
import os
import sys
from io import TextIOWrapper
from typing import TextIO


def tell(text: str, stream: TextIO | None = None) -> None:
    """Print; a reader that went away, or a full device, does not undo what the job has done."""
    out = stream or sys.stdout
    if out is None:
        return  # closed before the process began
    if isinstance(out, TextIOWrapper):
        out.reconfigure(errors="backslashreplace")
    try:
        print(text, file=out, flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())  # nothing is left to be flushed


def failed(reason: object, *, as_json: bool, code: int) -> int:
    """Say why, and return the exit code."""
    if as_json:
        tell(json.dumps({"success": False, "answer": str(reason)}, indent=2, ensure_ascii=False))
    else:
        tell(str(reason), sys.stderr)
    return code
