"""``bash`` and ``execute_code``: commands and code, run when the person agrees."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Final

from pydantic import BaseModel, Field

from agentscope_reme.chat.permission import Permissions, Question
from agentscope_reme.chat.processes import Ended, run, without_secrets
from agentscope_reme.ports import Tool, ToolOutput

_MOST_SECONDS: Final = 3600.0


class BashArguments(BaseModel):
    """A command."""

    command: str = Field(description="The command line, for bash.")
    timeout: float | None = Field(
        default=None, gt=0, le=_MOST_SECONDS, description="Seconds after which it is killed."
    )


class CodeArguments(BaseModel):
    """A piece of Python."""

    code: str = Field(description="Python source; what it prints is the answer.")
    timeout: float | None = Field(
        default=None, gt=0, le=_MOST_SECONDS, description="Seconds after which it is killed."
    )


def shell_tools(permissions: Permissions, *, folder: Path, seconds: float) -> list[Tool]:
    """Both tools.

    Args:
        permissions: asked before each run.
        folder: where commands run.
        seconds: the most a run takes that names no other time.
    """

    async def bash(given: BashArguments) -> ToolOutput:
        refusal = await permissions.refusal(Question("bash", "Run this command?", given.command))
        if refusal:
            return ToolOutput(refusal, success=False)
        shell = shutil.which("bash") or "/bin/sh"
        return await _ran([shell, "-c", given.command], given.timeout or seconds)

    async def execute_code(given: CodeArguments) -> ToolOutput:
        question = Question("execute_code", "Run this Python code?", given.code)
        refusal = await permissions.refusal(question)
        if refusal:
            return ToolOutput(refusal, success=False)
        return await _ran([sys.executable, "-u", "-"], given.timeout or seconds, given.code)

    async def _ran(words: list[str], limit: float, code: str | None = None) -> ToolOutput:
        said = None if code is None else code.encode("utf-8", "replace")
        environ = without_secrets(os.environ)
        try:
            ended = await run(words, folder=folder, environ=environ, seconds=limit, said=said)
        except (OSError, ValueError) as error:  # ValueError: NUL, or half characters
            return ToolOutput(f"It could not be started: {error}", success=False)
        return _told(ended, limit)

    return [
        Tool(
            "bash",
            f"Run a command in {folder}. Standard output and error come back, shortened in the "
            f"middle. It is killed after {seconds:g} seconds, or `timeout`; what it started ends "
            "with it, except what `setsid` started.",
            BashArguments,
            bash,
        ),
        Tool(
            "execute_code",
            "Run Python code in a process of its own. Print what you want to know.",
            CodeArguments,
            execute_code,
        ),
    ]


def _told(ended: Ended, limit: float) -> ToolOutput:
    said = ended.output.rstrip() or "(no output)"
    if ended.code is None:
        note = f"[Killed after {limit:g} seconds. Raise `timeout`, or do less at once.]"
        return ToolOutput(f"{said}\n{note}", success=False)
    if ended.code:
        return ToolOutput(f"{said}\n[exit code {ended.code}]", success=False)
    return ToolOutput(said)
