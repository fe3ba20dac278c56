"""Models of AgentScope 2.x by the name of their provider."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any, Final

import agentscope.credential
import agentscope.embedding
import agentscope.model
from pydantic import ValidationError

from agentscope_reme.errors import BadInput
from agentscope_reme.model_configs import ChatModelConfig, EmbeddingModelConfig
from agentscope_reme.model_faults import in_plain_words

_CLASSES: Final = {
    "openai": "OpenAI",
    "dashscope": "DashScope",
    "anthropic": "Anthropic",
    "gemini": "Gemini",
    "ollama": "Ollama",
    "deepseek": "DeepSeek",
    "moonshot": "Moonshot",
    "minimax": "MiniMax",
    "volcengine": "Volcengine",
    "xai": "XAI",
}
_ADDRESSES: Final = ("base_url", "host")
"""What the credentials call the address; those of Gemini and xAI have none."""


def chat_model(config: ChatModelConfig) -> tuple[Any, Any]:
    """The model; a formatter of its own is not needed on this line.

    Raises:
        BadInput: the installed release has no such provider, or a parameter is unknown.
        ImportError: the provider's client is not installed.
    """
    cls = getattr(agentscope.model, f"{_CLASSES[config.backend]}ChatModel", None)
    if cls is None:
        raise BadInput(
            config.backend,
            "this release of AgentScope 2.x has no model of this provider",
            "Use a newer one, or backend `openai` with its `base_url`.",
        )
    model = cls(
        _credential(config),
        config.model_name,
        parameters=_parameters(cls, config.parameters),
        stream=config.stream,
    )
    return model, None


def embedding_model(config: EmbeddingModelConfig) -> Any:
    """The embedding model.

    Raises:
        BadInput: it has no address to be set.
        ImportError: the provider's client is not installed.
    """
    cls = getattr(agentscope.embedding, f"{_CLASSES[config.backend]}EmbeddingModel")
    return cls(_credential(config), config.model_name, config.dimensions)


def _credential(config: ChatModelConfig | EmbeddingModelConfig) -> Any:
    cls = getattr(agentscope.credential, f"{_CLASSES[config.backend]}Credential")
    given: dict[str, Any] = {"api_key": config.key} if "api_key" in cls.model_fields else {}
    if config.base_url is not None:
        name = next((name for name in _ADDRESSES if name in cls.model_fields), None)
        if name is None:
            raise BadInput(
                config.base_url,
                "AgentScope 2.x has no address for this provider",
                "Use backend `openai` with this `base_url`, or leave it out.",
            )
        given[name] = config.base_url
    return cls(**given)


def _parameters(cls: Any, given: dict[str, Any]) -> Any:
    known = cls.Parameters.model_fields
    unknown = next((name for name in given if name not in known), None)
    if unknown is not None:
        near = get_close_matches(unknown, known, 1)
        raise BadInput(
            unknown,
            "the model knows no such parameter",
            f"Did you mean `{near[0]}`?" if near else f"Use {', '.join(known)}.",
        )
    try:
        return cls.Parameters(**given)
    except ValidationError as error:
        told = in_plain_words(error, "parameters")
        raise BadInput(given, f"a parameter does not fit: {told}", "Correct it.") from error
