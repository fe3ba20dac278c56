"""Which line of AgentScope is installed, without importing it."""

from __future__ import annotations

from functools import cache
from typing import Literal

Line = Literal[1, 2]


@cache
def installed_line() -> Line | None:
    """1 or 2 by the major version of the installed ``agentscope``; ``None`` without one."""
    from importlib.metadata import PackageNotFoundError, version  # late: it costs 10 ms

    try:
        major = version("agentscope").split(".")[0]
    except PackageNotFoundError:
        return None
    return 1 if major in ("0", "1") else 2


def require_line(line: Line, name: str, instead: str) -> None:
    """Refuse to import a class of the other line.

    Args:
        line: the line `name` belongs to.
        name: the class that was asked for.
        instead: the class of the installed line to use.

    Raises:
        ImportError: another line, or none, is installed.
    """
    found = installed_line()
    if found == line:
        return
    extra = f"pip install 'agentscope-reme[v{line}]'"
    if found is None:
        raise ImportError(f"{name} needs AgentScope {line}.x, and none is installed: {extra}")
    raise ImportError(
        f"{name} is for AgentScope {line}.x and {found}.x is installed: use {instead}, or {extra}"
    )


def room_of(name: str) -> str:
    """The room of the installed line, for a class that both lines have.

    Raises:
        ImportError: no AgentScope is installed.
    """
    line = installed_line()
    if line is None:
        extras = "pip install 'agentscope-reme[v2]', or [v1]"
        raise ImportError(f"{name} needs AgentScope, and none is installed: {extras}")
    return f"agentscope_v{line}"
