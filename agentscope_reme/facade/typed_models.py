"""The models and the store of a `VectorReMe`: as they are, or out of its configurations."""

from __future__ import annotations

import logging
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

_log: Final = logging.getLogger("agentscope_reme")

_LONGEST_NAME: Final = 100


def chat_model_given(
    model: Any, formatter: Any, config: Mapping[str, Any] | None, api_key: str, base_url: str
) -> tuple[Any, Any]:
    """The chat model and its formatter; no model where none is named, or its key is missing.

    A missing key is logged. A model at an address of one's own is asked without one.

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
    found = ChatModelConfig.of(full)
    if not found.named:
        _refuse_nameless("default_llm_config", config)
        return None, formatter
    if not found.reachable:
        _tell_of_no_key(found.model_name, "llm", "conversations are kept and wait for a model")
        return None, formatter
    made, its_formatter = chat_model_of(full)
    return made, formatter or its_formatter


def embedding_model_given(
    model: Any, config: Mapping[str, Any] | None, api_key: str, base_url: str
) -> Any:
    """The embedding model, or ``None``. Arguments and missing keys as in `chat_model_given`.

    Raises:
        BadInput: both are given, or the configuration does not fit.
    """
    if model is not None:
        _refuse_both("embedding_model", "default_embedding_model_config", config)
        return model
    name = "default_embedding_model_config"
    full = _full(config, EMBEDDING_VARIABLES, api_key, base_url, name)
    found = EmbeddingModelConfig.of(full)
    if not found.named:
        _refuse_nameless(name, config)
        return None
    if not found.reachable:
        _tell_of_no_key(found.model_name, "embedding", "memories are found by their words alone")
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


def _tell_of_no_key(model_name: str, kind: str, instead: str) -> None:
    _log.warning(
        "%r is not asked, for it has no key: %s. Set %s_api_key= or REME_%s_API_KEY; a server that "
        "needs no key is asked at its %s_base_url=.",
        model_name,
        instead,
        kind,
        kind.upper(),
        kind,
    )
