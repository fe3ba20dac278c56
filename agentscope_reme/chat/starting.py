"""``agentscope-reme chat key=value ...``, also called ``remecli``."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from io import TextIOWrapper
from pathlib import Path
from typing import Final

from agentscope_reme.configuration import load
from agentscope_reme.errors import BadInput

_PACKAGES: Final = ("prompt_toolkit", "rich")


def run(words: Sequence[str]) -> int:
    """Run the terminal assistant; the exit code: 0 when everything was done, 1 otherwise.

    Args:
        words: what was written behind the command.

    Raises:
        BadInput: a word or the configuration is not usable, or the extra is not installed.
        ReMeError: the memory cannot be opened.
    """
    for package in _PACKAGES:
        if find_spec(package) is None:
            raise BadInput(
                package, "the terminal assistant needs it", "pip install 'agentscope-reme[cli]'"
            )
    configuration = load(_split(words), built_in="cli", env_file=True)
    logging.disable(logging.CRITICAL)  # lines of a log would run through what is being drawn
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks a character shows another
    folder = Path.cwd()
    if sys.stdin is not None and sys.stdin.isatty():
        from agentscope_reme.chat.terminal import Terminal

        return asyncio.run(Terminal(configuration, folder).run())
    from agentscope_reme.chat.piped import run_piped

    text = sys.stdin.buffer.read().decode("utf-8", "replace") if sys.stdin is not None else ""
    return asyncio.run(run_piped(configuration, folder, text))


def _split(words: Sequence[str]) -> dict[str, str]:
    given: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise BadInput(word, "not of the form key=value", "Write language=zh, for example.")
        if key in given:
            raise BadInput(key, "this key is given twice", "Keep one of them.")
        given[key] = value
    return given
