"""Each host needs an environment of its own; ``REME_HOSTS`` names the one that is installed."""

from __future__ import annotations

import os
from pathlib import Path

_FOLDERS = {"qwenpaw": "qwenpaw_plugin", "copaw": "copaw_host"}

_chosen = os.environ.get("REME_HOSTS", "")
if _chosen and _chosen not in _FOLDERS:
    raise ValueError(f"REME_HOSTS={_chosen}: choose one of {sorted(_FOLDERS)}")

# Without the variable this whole folder is passed over: see tests/conftest.py.
collect_ignore = [folder for host, folder in _FOLDERS.items() if host != _chosen]
EXAMPLES = Path(__file__).parents[2] / "examples"
