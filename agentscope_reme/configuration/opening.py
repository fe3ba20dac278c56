"""The memory a configuration describes; apart, because it loads the whole engine."""

from __future__ import annotations

from agentscope_reme.configuration.models import chat_model, embedding_model
from agentscope_reme.configuration.sections import Configuration
from agentscope_reme.reme import ReMe


def open_memory(configuration: Configuration, *, chat: bool = True, embedding: bool = True) -> ReMe:
    """The memory, not started yet.

    Args:
        configuration: which one.
        chat: with its chat model, where one is configured; AgentScope is loaded for it.
        embedding: with its embedding model, where one is configured.

    Raises:
        BadInput: the workspace, a setting or a model is not usable.
    """
    model, formatter = chat_model(configuration) if chat else (None, None)
    return ReMe(
        **configuration.memory,
        chat_model=model,
        formatter=formatter,
        embedding_model=embedding_model(configuration) if embedding else None,
    )
