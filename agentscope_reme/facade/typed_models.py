"""The models and the store of a `VectorReMe`: as they are, or out of its configurations."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from agentscope_reme.errors import BadInput
from agentscope_reme.facade.configured_models import (
    CHAT_VARIABLES,
    EMBEDDING_VARIABLES,
    chat_model_of,
    embedding_model_of,
    with_environment,
)
from agentscope_reme.model_configs import ChatModelConfig, EmbeddingModelConfig
from agentscope_reme.typed.stores.base import BaseVectorStore
from agentscope_reme.typed.stores.factory import make_store

_LONGEST_NAME: Final = 100


def chat_model_given(
    model: Any, formatter: Any, config: Mapping[str, Any] | None, api_key: str, base_url: str
) -> tuple[Any, Any]:
    """The chat model and its formatter; two ``None`` where nothing names one.

    Args:
        model: an AgentScope model or a port; it excludes a configuration.
        formatter: the model's formatter.
        config: a configuration; the environment completes it.
        api_key: the key, where the configuration has none.
        base_url: the address, where the configuration has none.

    Raises:
        BadInput: both are given, or the configuration does not fit.
    """
    if model is not None:
        _refuse_both("chat_model", "default_llm_config", config)
        return model, formatter
    full = _full(config, CHAT_VARIABLES, api_key, base_url, "default_llm_config")
    if not full or not ChatModelConfig.of(full).named:
        _refuse_nameless("default_llm_config", config)
        return None, formatter
    made, its_formatter = chat_model_of(full)
    return made, formatter or its_formatter


def embedding_model_given(
    model: Any, config: Mapping[str, Any] | None, api_key: str, base_url: str
) -> Any:
    """The embedding model; ``None`` where nothing names one. Arguments as `chat_model_given`.

    Raises:
        BadInput: both are given, or the configuration does not fit.
    """
    if model is not None:
        _refuse_both("embedding_model", "default_embedding_model_config", config)
        return model
    name = "default_embedding_model_config"
    full = _full(config, EMBEDDING_VARIABLES, api_key, base_url, name)
    if not full or not EmbeddingModelConfig.of(full).named:
        _refuse_nameless(name, config)
        return None
    return embedding_model_of(full)


def store_given(
    working_dir: str | os.PathLike[str], config: Mapping[str, Any] | None
) -> BaseVectorStore:
    """The store a configuration names; the local one without.

    Raises:
        BadInput: there is no such store, or it takes no such option.
    """
    options = _mapping(config, "default_vector_store_config")
    backend = options.pop("backend", "local")
    if not isinstance(backend, str):
        raise BadInput(backend, "`backend` is no name of a store", "Pass 'local'.")
    try:
        folder = Path(working_dir)
    except TypeError as error:
        raise BadInput(working_dir, "`working_dir` is no path", "Pass a folder.") from error
    return make_store(backend, folder, **options)


def name_of(model: Any) -> str:
    """What a model is called, for the author of what it writes; empty when it does not say."""
    for attribute in ("model_name", "model"):
        name = getattr(model, attribute, None)
        if isinstance(name, str):
            return name[:_LONGEST_NAME]
    return ""


def _full(
    config: Mapping[str, Any] | None,
    variables: Mapping[str, str],
    api_key: str,
    base_url: str,
    argument: str,
) -> dict[str, Any]:
    said = {"api_key": api_key, "base_url": base_url}
    given = {key: value for key, value in said.items() if value}
    return with_environment({**given, **_mapping(config, argument)}, variables, os.environ)


def _mapping(config: Mapping[str, Any] | None, argument: str) -> dict[str, Any]:
    if config is None:
        return {}
    if not isinstance(config, Mapping):
        raise BadInput(config, f"`{argument}` is no mapping", 'Pass {"backend": ...}.')
    return {str(key): value for key, value in config.items()}


def _refuse_both(model: str, argument: str, config: object) -> None:
    if config is not None:
        raise BadInput(argument, f"`{model}` is given as well", "Pass one of the two.")


def _refuse_nameless(argument: str, config: object) -> None:
    if config:
        raise BadInput(argument, "it names no model", "Set its `model_name`.")
