"""CoPaw in this process, and a prepared installation of it, each in a folder of its own."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hosts.conftest import EXAMPLES
from tests.hosts.host_provider import MODEL, HostProvider
from tests.hosts.installation import Installation, host_settings

# Tests that use CoPaw in this process: it reads its folder when it is imported.
_own = tempfile.TemporaryDirectory(prefix="copaw-in-process-")
os.environ.update(host_settings("COPAW_WORKING_DIR", Path(_own.name) / "home"))
sys.path.insert(0, str(EXAMPLES / "copaw_host"))


@pytest.fixture
def copaw(tmp_path: Path) -> Iterator[Installation]:
    """A fresh installation that uses our memory and the loopback model."""
    command = (sys.executable, str(EXAMPLES / "copaw_host" / "run_copaw.py"))
    with HostProvider() as provider:
        host = Installation(tmp_path / "home", "COPAW_WORKING_DIR", command, provider)
        host.run("init", "--defaults", "--accept-security")
        script = Path(__file__).with_name("prepare.py")
        host.run_program([sys.executable, str(script), provider.openai_url, MODEL])
        yield host
