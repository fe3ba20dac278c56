"""The examples can be imported, and the provider is on the loopback interface."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.loopback.fixtures import provider

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))

__all__ = ["provider"]
