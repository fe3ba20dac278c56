"""AgentScope models of the installed line, out of a few words of configuration."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeVar

from agentscope_reme.agentscope_line import installed_line
from agentscope_reme.errors import BadInput
from agentscope_reme.local_embedding import LocalEmbedding
from agentscope_reme.model_configs import ChatModelConfig, EmbeddingModelConfig

C = TypeVar("C", ChatModelConfig, EmbeddingModelConfig)

CHAT_VARIABLES: Mapping[str, str] = {
    "REME_LLM_BACKEND": "backend",
    "REME_LLM_MODEL_NAME": "model_name",
    "REME_LLM_API_KEY": "api_key",
    "REME_LLM_BASE_URL": "base_url",
}
"""Environment variables of the chat model, and what they say."""
EMBEDDING_VARIABLES: Mapping[str, str] = {
    "REME_EMBEDDING_BACKEND": "backend",
    "REME_EMBEDDING_MODEL_NAME": "model_name",
    "REME_EMBEDDING_API_KEY": "api_key",
    "REME_EMBEDDING_BASE_URL": "base_url",
    "REME_EMBEDDING_DIMENSIONS": "dimensions",
}
"""The same for the embedding model."""


_CLIENTS: Mapping[str, str] = {"gemini": "google-genai", "xai": "xai-sdk"}
"""Packages whose name is not that of the provider."""


def chat_model_of(config: ChatModelConfig | Mapping[str, Any]) -> tuple[Any, Any]:
    """A chat model and the formatter that goes with it, for ``ReMe`` and for agents.

    Args:
        config: which one, as `ChatModelConfig` or as ``{"backend": ..., "model_name": ...}``.

    Raises:
        BadInput: it names no model, a key is unknown, the installed AgentScope has no such
            provider, or its client is not installed.
    """
    found = _typed(ChatModelConfig, config)
    _require_name(found.model_name)
    require_address(found.base_url)
    try:
        match installed_line():
            case 1:
                from agentscope_reme.agentscope_v1 import models_by_name as first

                return first.chat_model(found)
            case 2:
                from agentscope_reme.agentscope_v2 import models_by_name as second

                return second.chat_model(found)
            case None:
                raise _no_agentscope(found.model_name)
    except ImportError as error:
        raise _no_client(found.backend, error) from error


def embedding_model_of(config: EmbeddingModelConfig | Mapping[str, Any]) -> Any:
    """An embedding model, for ``ReMe(embedding_model=...)``.

    Args:
        config: which one, as `EmbeddingModelConfig` or as ``{"backend": ..., "model_name": ...}``.

    Raises:
        BadInput: as `chat_model_of`.
    """
    found = _typed(EmbeddingModelConfig, config)
    if found.backend == "local":
        return LocalEmbedding()
    _require_name(found.model_name)
    require_address(found.base_url)
    try:
        match installed_line():
            case 1:
                from agentscope_reme.agentscope_v1 import models_by_name as first

                return first.embedding_model(found)
            case 2:
                from agentscope_reme.agentscope_v2 import models_by_name as second

                return second.embedding_model(found)
            case None:
                raise _no_agentscope(found.model_name)
    except ImportError as error:
        raise _no_client(found.backend, error) from error


def with_environment(
    config: Mapping[str, Any], variables: Mapping[str, str], environ: Mapping[str, str]
) -> dict[str, Any]:
    """A mapping, completed by what the environment says and it leaves open.

    Args:
        config: what was given; it wins.
        variables: `CHAT_VARIABLES` or `EMBEDDING_VARIABLES`.
        environ: the environment; an empty variable says nothing.
    """
    said = {key: environ[name] for name, key in variables.items() if environ.get(name, "").strip()}
    return {**said, **config}


def require_address(value: str | None, name: str = "base_url") -> None:
    """Refuse what is no address of a provider.

    Args:
        value: the address; ``None`` is the provider's own.
        name: what to call it.

    Raises:
        BadInput: it is none.
    """
    if value and not re.match(r"https?://[^\s/]", value):
        shown = value.rpartition("@")[2].partition("?")[0]  # without what lets somebody in
        raise BadInput(shown, f"{name} is no address", "Begin it with https://.")


def _typed(kind: type[C], config: C | Mapping[str, Any]) -> C:
    if isinstance(config, kind):
        return config
    if not isinstance(config, Mapping):
        raise BadInput(
            type(config).__name__, "no configuration of a model", f"Pass `{kind.__name__}(...)`."
        )
    return kind.of(config)


def _require_name(name: str) -> None:
    if not name:
        raise BadInput("model_name", "no model is named", "Set `model_name`.")


def _no_agentscope(name: str) -> BadInput:
    return BadInput(name, "no AgentScope is installed to run it", "Install `agentscope`.")


def _no_client(backend: str, error: ImportError) -> BadInput:
    package = _CLIENTS.get(backend, backend)
    reason = f"the client of this provider cannot be imported ({type(error).__name__})"
    return BadInput(backend, reason, f"Install it: pip install {package}")
