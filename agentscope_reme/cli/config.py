"""``agentscope-reme config show``: every value, and where it came from."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from agentscope_reme.cli.telling import tell
from agentscope_reme.configuration import load, shown
from agentscope_reme.configuration.words import split
from agentscope_reme.errors import BadInput


def show(words: Sequence[str]) -> int:
    """Print the configuration as a job with the same words would have it.

    Args:
        words: ``show``, then ``key=value``; with ``--json`` anywhere it is JSON.

    Raises:
        BadInput: a word or the configuration is wrong.
    """
    as_json = "--json" in words
    what, *given = [word for word in words if word != "--json"] or [""]
    if what != "show":
        reason = "`config` has no such action" if what else "the action is missing"
        raise BadInput(what or "config", reason, "Write `agentscope-reme config show`.")
    rows = shown(load(split(given), env_file=True))
    if as_json:
        values = [asdict(row) for row in rows]
        told = {"success": True, "answer": f"{len(values)} values.", "values": values}
        tell(json.dumps(told, indent=2, ensure_ascii=False))
        return 0
    width = max(len(row.key) for row in rows)
    for row in rows:
        value = json.dumps(row.value, ensure_ascii=False)
        tell(f"{row.key:{width}}  {value}  ({row.origin})")
    return 0
