"""One installation of a host application: its folder, its environment and its model."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.hosts.host_process import HostProcess, no_outside_network
from tests.hosts.host_provider import HostProvider


def host_settings(variable: str, home: Path) -> dict[str, str]:
    """What keeps a host in its own folder and on this machine."""
    return {
        **no_outside_network(),
        variable: str(home),
        "QWENPAW_TELEMETRY_DISABLED": "1",
        "HF_HUB_OFFLINE": "1",
    }


@dataclass(frozen=True)
class Installation:
    """A host below `home`, with `command` as its command line.

    Attributes:
        home: the host's folder.
        variable: the environment variable that names it.
        command: what starts the host's command line.
        provider: the only model it knows.
    """

    home: Path
    variable: str
    command: tuple[str, ...]
    provider: HostProvider

    @property
    def env(self) -> dict[str, str]:
        """The environment of its processes; nothing of another installation is in it."""
        others = ("QWENPAW_", "COPAW_")
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(others)}
        own = host_settings(self.variable, self.home)
        return {**inherited, **own, "HOME": str(self.home.parent)}

    def run(self, *arguments: str) -> str:
        """Run a command of the host to its end and return what it printed."""
        return self.run_program([*self.command, *arguments])

    def run_program(self, command: Sequence[str]) -> str:
        """Run a program in the host's environment to its end and return what it printed."""
        done = subprocess.run(
            command, env=self.env, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def start(self) -> HostProcess:
        """The app, for a ``with`` statement."""
        command = [*self.command, "app", "--host", "127.0.0.1", "--port", "{port}"]
        log = self.home.with_suffix(".log")
        return HostProcess(command, self.env, ready="/api/version", log=log)
