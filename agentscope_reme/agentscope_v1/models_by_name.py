"""Models of AgentScope 1.x by the name of their provider."""

from __future__ import annotations

from typing import Any, Final

import agentscope.embedding
import agentscope.model

from agentscope_reme.agentscope_v1.models import formatter_for
from agentscope_reme.errors import BadInput
from agentscope_reme.model_configs import ChatModelConfig, EmbeddingModelConfig

_CHAT: Final = {
    "openai": "OpenAIChatModel",
    "dashscope": "DashScopeChatModel",
    "anthropic": "AnthropicChatModel",
    "gemini": "GeminiChatModel",
    "ollama": "OllamaChatModel",
}
_EMBEDDING: Final = {
    "openai": "OpenAITextEmbedding",
    "dashscope": "DashScopeTextEmbedding",
    "gemini": "GeminiTextEmbedding",
    "ollama": "OllamaTextEmbedding",
}


def chat_model(config: ChatModelConfig) -> tuple[Any, Any]:
    """The model, and the formatter that goes with it.

    Raises:
        BadInput: this line has no such provider.
        ImportError: the provider's client is not installed.
    """
    if config.backend not in _CHAT:
        raise BadInput(
            config.backend,
            "AgentScope 1.x has no model of this provider",
            "Use backend `openai` with its `base_url`, or AgentScope 2.x.",
        )
    given: dict[str, Any] = {"stream": config.stream, **_chat_address(config)}
    if config.backend != "ollama":
        given["api_key"] = config.key
    if config.parameters:
        given["generate_kwargs"] = config.parameters
    model = getattr(agentscope.model, _CHAT[config.backend])(config.model_name, **given)
    return model, formatter_for(model)


def _chat_address(config: ChatModelConfig) -> dict[str, Any]:
    if config.base_url is None:
        return {}
    match config.backend:
        case "dashscope":
            return {"base_http_api_url": config.base_url}
        case "ollama":
            return {"host": config.base_url}
        case "gemini":
            return {"client_kwargs": {"http_options": {"base_url": config.base_url}}}
        case _:
            return {"client_kwargs": {"base_url": config.base_url}}


def embedding_model(config: EmbeddingModelConfig) -> Any:
    """The embedding model.

    Raises:
        BadInput: it has no address to be set.
        ImportError: the provider's client is not installed.
    """
    given: dict[str, Any] = {"model_name": config.model_name, "dimensions": config.dimensions}
    if config.backend != "ollama":
        given["api_key"] = config.key
    cls = getattr(agentscope.embedding, _EMBEDDING[config.backend])
    return cls(**given, **_embedding_address(config))


def _embedding_address(config: EmbeddingModelConfig) -> dict[str, Any]:
    if config.base_url is None:
        return {}
    match config.backend:
        case "openai":
            return {"base_url": config.base_url}
        case "ollama":
            return {"host": config.base_url}
        case "gemini":
            return {"http_options": {"base_url": config.base_url}}
        case _:
            raise BadInput(
                config.base_url,
                "AgentScope 1.x has no address for this provider's embeddings",
                "Use backend `openai` with this `base_url`, or leave it out.",
            )
