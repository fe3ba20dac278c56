"""One import gives the scripted model of whichever AgentScope is installed."""

from __future__ import annotations

import pytest

import agentscope_reme.hooks
import agentscope_reme.testing
from agentscope_reme.agentscope_line import installed_line


def test_the_scripted_model_is_that_of_the_line() -> None:
    module = agentscope_reme.testing.ScriptedChatModel.__module__

    assert module == f"agentscope_reme.agentscope_v{installed_line()}.scripted"


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    for module in (agentscope_reme.testing, agentscope_reme.hooks):
        with pytest.raises(AttributeError):
            _ = module.NoSuchName


@pytest.mark.parametrize("name", agentscope_reme.hooks.__all__)
def test_hooks_exist_in_the_first_line_and_name_the_way_in_the_second(name: str) -> None:
    if installed_line() == 1:
        assert getattr(agentscope_reme.hooks, name).__name__ == name
    else:
        with pytest.raises(ImportError, match="use ReMeMemoryMiddleware"):
            getattr(agentscope_reme.hooks, name)
