"""A chat model of AgentScope 1.x for any provider that speaks OpenAI's protocol."""

from __future__ import annotations

from typing import Any

from agentscope.formatter import OpenAIChatFormatter
from agentscope.model import OpenAIChatModel


def openai_chat(name: str, api_key: str, base_url: str | None) -> tuple[Any, Any]:
    """The model, and the formatter that goes with it.

    Args:
        name: as the provider calls the model.
        api_key: the provider's key.
        base_url: its address; OpenAI's own without it.
    """
    client: dict[str, Any] = {"base_url": base_url} if base_url else {}
    model = OpenAIChatModel(name, api_key=api_key, stream=False, client_kwargs=client)
    return model, OpenAIChatFormatter()
