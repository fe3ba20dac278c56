"""One service for the tests that change nothing, and the provider on the loopback interface."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from agentscope_reme.cli import main
from tests.loopback.fixtures import provider
from tests.service.browser import CHROMIUM
from tests.service.processes import Service, running

__all__ = ["provider"]

collect_ignore = [] if CHROMIUM else ["test_in_a_browser.py"]

SECRET = "xylophone-4711"


@pytest.fixture(scope="package")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service with one card; who uses it must leave it as it is."""
    with running(tmp_path_factory.mktemp("shared")) as service:
        card = {"path": "digest/wiki/secret.md", "content": f"The code is {SECRET}."}
        assert service.ask("/write", card).status == 200
        yield service


@pytest.fixture(scope="package")
def writable(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service for tests that write what no other test looks for."""
    with running(tmp_path_factory.mktemp("writable")) as service:
        yield service


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a service of one test alone is started."""
    return tmp_path


Said = tuple[int, str, str]


@pytest.fixture
def command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Said]:
    """The command line in a folder, in this process: exit code, output and errors."""
    monkeypatch.setenv("REME_LLM_API_KEY", "")

    def said(folder: Path, *words: str) -> Said:
        monkeypatch.chdir(folder)
        monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(b"zirconia")))
        return main(words), *capsys.readouterr()

    return said
