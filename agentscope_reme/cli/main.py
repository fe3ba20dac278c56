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
    given = list(sys.argv[1:] if words is None else words)
    if words is None:
        _collect_garbage_rarely()
    try:
        from agentscope_reme.cli.dispatch import answered

        code = answered(given)
    except KeyboardInterrupt:
        code = _stopped(given)
    if words is None:
        _end_quietly()
    return code


def remecli() -> int:
    """``remecli`` is ``agentscope-reme chat``."""
    sys.argv.insert(1, "chat")
    return main()


def _stopped(given: Sequence[str]) -> int:
    from agentscope_reme.cli.telling import failed

    return failed("stopped; what was saved stays saved", as_json="--json" in given, code=130)


def _collect_garbage_rarely() -> None:
    """Nothing of what a start loads is garbage: looking for it takes a twentieth of the start."""
    import gc

    gc.set_threshold(50_000, 20, 20)


def _end_quietly() -> None:
    """All is said: Ctrl-C while Python takes itself apart ends it without a traceback."""
    from signal import SIG_DFL, SIGINT, signal

    signal(SIGINT, SIG_DFL)
