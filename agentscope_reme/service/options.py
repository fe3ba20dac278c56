"""How a memory is served: where, to whom, and which of its jobs."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from types import MappingProxyType
from typing import Final, Literal

from agentscope_reme.errors import BadInput
from agentscope_reme.jobs import READING_JOBS, Job, jobs

DEFAULT_PORT: Final = 7363
"""``REME`` on the keys of a telephone."""

_LOCALHOST: Final = "127.0.0.1"
_NEEDED: Final = ("mcp", "starlette", "uvicorn")


@dataclass(frozen=True, slots=True)
class ServiceOptions:
    """What `agentscope-reme start` was asked for.

    Args:
        host: an address of the loopback interface; nothing else is ever served.
        port: where to listen; 0 lets the system choose.
        transport: ``http`` serves HTTP and MCP, ``stdio`` MCP on standard input and output.
        token: ``file`` makes a token and keeps it in a file only its owner can read; ``none`` lets
            every program on this machine in, whoever runs it.
        jobs: the jobs to serve; all of them without it.
        read_only: only jobs that change nothing.

    Raises:
        BadInput: an option does not fit.
    """

    host: str = _LOCALHOST
    port: int = DEFAULT_PORT
    transport: Literal["http", "stdio"] = "http"
    token: Literal["file", "none"] = "file"  # noqa: S105 - where it is kept, not what it is
    jobs: Sequence[str] | None = None
    read_only: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "host", _loopback(self.host))
        if not 0 <= self.port < 65536:
            raise BadInput(self.port, "`port` is no port", "Give 1 to 65535, or 0 for a free one.")
        unknown = [name for name in self.jobs or () if name not in jobs()]
        if unknown:
            known = ", ".join(jobs())
            raise BadInput(unknown[0], "`jobs` names no job with it", f"Choose among {known}.")

    @property
    def served(self) -> Mapping[str, Job]:
        """The jobs that are served, by name."""
        chosen = jobs() if self.jobs is None else {name: jobs()[name] for name in self.jobs}
        return MappingProxyType(
            {n: job for n, job in chosen.items() if n in READING_JOBS or not self.read_only}
        )


def require_libraries() -> None:
    """Make sure that what a service is made of is installed.

    Raises:
        BadInput: something is missing.
    """
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise BadInput(
            "start",
            f"{' and '.join(missing)} is not installed",
            'Run: pip install "agentscope-reme[service]"',
        )


def _loopback(host: str) -> str:
    if host == "localhost":
        return _LOCALHOST
    remedy = f"Use {_LOCALHOST} or ::1; to reach it from elsewhere use a tunnel, such as ssh -L."
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        raise BadInput(host, "`host` is no loopback address", remedy) from None
    if not address.is_loopback:
        raise BadInput(host, "a memory is served on the loopback interface only", remedy)
    return str(address)
