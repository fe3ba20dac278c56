"""The edge of the process; nothing is loaded before an interruption would be told in words."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(words: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code.

    0 done, 1 the job failed, 2 written wrongly, 130 stopped by Ctrl-C.

    Args:
        words: what was written behind the command; that of this process by default.
    """
    from agentscope_reme.cli import interruptions

    given = list(sys.argv[1:] if words is None else words)
    if words is None:
        interruptions.while_loading(given)
        _collect_garbage_rarely()
    try:
        from agentscope_reme.cli.dispatch import answered

        code = answered(given)
    except KeyboardInterrupt:
        code = interruptions.told(given)
    if words is None:
        interruptions.without_a_word()
    return code


def remecli() -> int:
    """``remecli`` is ``agentscope-reme chat``."""
    sys.argv.insert(1, "chat")
    return main()


def _collect_garbage_rarely() -> None:
    """Nothing of what a start loads is garbage: looking for it takes a twentieth of the start."""
    import gc

    gc.set_threshold(50_000, 20, 20)
