"""The models a configuration describes."""

from __future__ import annotations

from typing import Any

from agentscope_reme.configuration.sections import Configuration
from agentscope_reme.errors import BadInput
from agentscope_reme.facade.configured_models import (
    chat_model_of,
    embedding_model_of,
    require_address,
)


def chat_model(configuration: Configuration, *, stream: bool = False) -> tuple[Any, Any]:
    """The configured chat model and its formatter, or two ``None`` where there is no key.

    Args:
        configuration: which one.
        stream: whether answers come in pieces.

    Raises:
        BadInput: there is a key but no model name, or the model cannot be made.
    """
    config = configuration.llm
    if not config.has_key:
        return None, None
    if not config.model_name:
        raise BadInput(
            "llm.model_name",
            "there is a key, but no model",
            "Set REME_LLM_MODEL_NAME, or llm.model_name=.",
        )
    _require_address(configuration, "llm", config.base_url)
    return chat_model_of(config.model_copy(update={"stream": stream}))


def embedding_model(configuration: Configuration) -> Any:
    """The configured embedding model, or ``None`` where there is no key, or no name.

    Raises:
        BadInput: the model cannot be made.
    """
    config = configuration.embedding
    if not (config.has_key and config.named):
        return None
    _require_address(configuration, "embedding", config.base_url)
    return embedding_model_of(config)


def _require_address(configuration: Configuration, section: str, value: str | None) -> None:
    key = f"{section}.base_url"
    require_address(value, f"{key} ({configuration.origin(key)})")
