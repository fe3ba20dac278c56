"""A prepared QwenPaw with the plug-in installed, in a folder of its own."""

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

# Tests that use QwenPaw in this process: it reads its folder when it is imported.
_own = tempfile.TemporaryDirectory(prefix="qwenpaw-in-process-")
os.environ.update(host_settings("QWENPAW_WORKING_DIR", Path(_own.name) / "home"))


@pytest.fixture
def qwenpaw(tmp_path: Path) -> Iterator[Installation]:
    """A fresh installation that uses our memory and the loopback model."""
    command = (sys.executable, "-m", "qwenpaw")
    with HostProvider() as provider:
        host = Installation(tmp_path / "home", "QWENPAW_WORKING_DIR", command, provider)
        host.run("init", "--defaults", "--accept-security")
        host.run("plugin", "install", str(EXAMPLES / "qwenpaw_plugin"))
        script = Path(__file__).with_name("prepare.py")
        host.run_program([sys.executable, str(script), provider.openai_url, MODEL])
        yield host
