"""Which tests the installed AgentScope can run, and rules that hold for every test."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from agentscope_reme.agentscope_line import installed_line
from agentscope_reme.testing import take_unscripted_calls

os.environ["AGENTSCOPE_DISABLE_CONSOLE_OUTPUT"] = "true"
os.environ["NO_PROXY"] = "127.0.0.1,localhost"

# A shell's `&` and `nohup` have signals ignored, which every process a test starts would inherit.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

_OF_LINE_1 = ["agentscope_v1", "hooks", "copaw", "window"]
_OF_LINE_2 = ["agentscope_v2", "agent_service", "middlewares"]

collect_ignore = [
    *(_OF_LINE_1 if installed_line() != 1 else []),
    *(_OF_LINE_2 if installed_line() != 2 else []),
    *(["hosts"] if "REME_HOSTS" not in os.environ else []),  # `make hosts` installs the hosts
]


@pytest.fixture(autouse=True)
def _every_model_call_is_scripted() -> Iterator[None]:
    """A model call nobody wrote down fails the test, even when the code swallowed the error."""
    take_unscripted_calls()
    yield
    missed = take_unscripted_calls()
    if missed:
        pytest.fail(f"{len(missed)} unscripted model calls; the first: {missed[0]}")
