"""The stand-in as a chat model of the installed AgentScope line.

It is rule-based and contains no AI. The rules are in ``stand_in_rules.py``; the two siblings of
this file only translate between them and a model's interface.
"""

from __future__ import annotations

import importlib
from typing import Any

from agentscope_reme.agentscope_line import installed_line


def make_stand_in() -> tuple[Any, Any]:
    """A stand-in model and, for AgentScope 1.x, the formatter to use with it (else ``None``)."""
    line = installed_line()
    model = importlib.import_module(f"stand_in_model_v{line}").StandInChatModel()
    if line != 1:
        return model, None  # a 2.x model brings its own formatter
    from agentscope.formatter import OpenAIChatFormatter

    return model, OpenAIChatFormatter()
