"""Examples are scripts beside each other: their folder is where they import from."""

from __future__ import annotations

import sys
from pathlib import Path

from agentscope_reme.agentscope_line import installed_line
from tests.loopback.fixtures import provider

__all__ = ["provider"]

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

if str(EXAMPLES) not in sys.path:
    sys.path.insert(0, str(EXAMPLES))

collect_ignore_glob = [f"*_v{line}.py" for line in (1, 2) if line != installed_line()]
