"""A chat model of AgentScope 2.x for any provider that speaks OpenAI's protocol."""

from __future__ import annotations

from typing import Any

from agentscope.credential import OpenAICredential
from agentscope.model import OpenAIChatModel


def openai_chat(name: str, api_key: str, base_url: str | None) -> tuple[Any, Any]:
    """The model; a formatter of its own is not needed on this line.

    Args:
        name: as the provider calls the model.
        api_key: the provider's key.
        base_url: its address; OpenAI's own without it.
    """
    where = {"base_url": base_url} if base_url else {}
    return OpenAIChatModel(OpenAICredential(api_key=api_key, **where), name, stream=False), None
