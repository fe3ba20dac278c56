"""The contract of every store, on each engine whose server is installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentscope_reme.store.base import BaseFileStore
from tests.scaleout.conftest import Opener
from tests.store.contract.test_keeping_files import *  # noqa: F403 - the same tests, other stores
from tests.store.contract.test_searching import *  # noqa: F403

pytestmark = pytest.mark.scaleout


@pytest.fixture
def store(opened: Opener, tmp_path: Path) -> BaseFileStore:
    return opened(tmp_path)
