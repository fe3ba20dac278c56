"""The chat model of the command line, out of the environment."""

from __future__ import annotations

import os
import re
from typing import Any

from agentscope_reme.agentscope_line import installed_line
from agentscope_reme.errors import BadInput


def model_of_the_environment() -> tuple[Any, Any]:
    """A chat model and its formatter, or two ``None`` where no key is set.

    ``REME_LLM_API_KEY`` and ``REME_LLM_MODEL_NAME`` name the model, ``REME_LLM_BASE_URL`` a
    provider that speaks OpenAI's protocol; OpenAI itself without it.

    Raises:
        BadInput: there is a key but no model name, an address that is none, or no AgentScope.
    """
    key = os.environ.get("REME_LLM_API_KEY", "")
    if not key:
        return None, None
    name = os.environ.get("REME_LLM_MODEL_NAME", "")
    if not name:
        raise BadInput(
            "REME_LLM_API_KEY", "there is a key, but no model", "Set REME_LLM_MODEL_NAME, too."
        )
    base_url = os.environ.get("REME_LLM_BASE_URL") or None
    if base_url and not re.match(r"https?://[^\s/]", base_url):
        raise BadInput(base_url, "REME_LLM_BASE_URL is no address", "Begin it with https://.")
    match installed_line():
        case 1:
            from agentscope_reme.agentscope_v1 import openai_chat as first

            return first.openai_chat(name, key, base_url)
        case 2:
            from agentscope_reme.agentscope_v2 import openai_chat as second

            return second.openai_chat(name, key, base_url)
        case None:
            raise BadInput(name, "no AgentScope is installed to run it", "Install `agentscope`.")
