"""What a CoPaw host configures by environment variables, read once and never written."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, cast

from agentscope_reme.errors import BadInput

DEFAULT_BASE_URL: Final = "https://dashscope.aliyuncs.com/compatible-mode/v1"

Backend = Literal["auto", "chroma", "local"]
EmbeddingEnvs = tuple[str, str, str, int, bool, int, int, int]

_BACKENDS: Final = ("auto", "chroma", "local")
_YES: Final = ("1", "true", "yes", "on")
_NO: Final = ("0", "false", "no", "off")


@dataclass(frozen=True, slots=True)
class CopawEnvironment:
    """The documented variables with their defaults.

    Attributes:
        api_key: ``EMBEDDING_API_KEY``.
        base_url: ``EMBEDDING_BASE_URL``, any OpenAI-compatible service.
        model_name: ``EMBEDDING_MODEL_NAME``; without one there are no vectors.
        dimensions: ``EMBEDDING_DIMENSIONS``, numbers per vector.
        cache_enabled: ``EMBEDDING_CACHE_ENABLED``.
        max_cache_size: ``EMBEDDING_MAX_CACHE_SIZE``, texts kept in memory with their vectors.
        max_input_length: ``EMBEDDING_MAX_INPUT_LENGTH``, characters of one text.
        max_batch_size: ``EMBEDDING_MAX_BATCH_SIZE``, texts in one call.
        full_text: ``FTS_ENABLED``, search by keyword.
        backend: ``MEMORY_STORE_BACKEND``, where vectors are kept.
    """

    api_key: str = ""
    base_url: str = DEFAULT_BASE_URL
    model_name: str = ""
    dimensions: int = 1024
    cache_enabled: bool = True
    max_cache_size: int = 2000
    max_input_length: int = 8192
    max_batch_size: int = 10
    full_text: bool = True
    backend: Backend = "auto"

    @property
    def vectors(self) -> bool:
        """Whether an embedding model is named; a key alone cannot be called."""
        return bool(self.model_name)

    @property
    def embedding(self) -> EmbeddingEnvs:
        """The eight embedding values, in the documented order."""
        return (
            self.api_key,
            self.base_url,
            self.model_name,
            self.dimensions,
            self.cache_enabled,
            self.max_cache_size,
            self.max_input_length,
            self.max_batch_size,
        )


def read_environment(variables: Mapping[str, str] | None = None) -> CopawEnvironment:
    """The environment as it is now.

    Args:
        variables: what to read instead of ``os.environ``.

    Raises:
        BadInput: a value is no number or no switch, or neither kind of search is left.
    """
    given = os.environ if variables is None else variables
    defaults = CopawEnvironment()
    found = CopawEnvironment(
        api_key=given.get("EMBEDDING_API_KEY", "").strip(),
        base_url=given.get("EMBEDDING_BASE_URL", "").strip() or DEFAULT_BASE_URL,
        model_name=given.get("EMBEDDING_MODEL_NAME", "").strip(),
        dimensions=_number(given, "EMBEDDING_DIMENSIONS", defaults.dimensions),
        cache_enabled=_switch(given, "EMBEDDING_CACHE_ENABLED", defaults.cache_enabled),
        max_cache_size=_number(given, "EMBEDDING_MAX_CACHE_SIZE", defaults.max_cache_size),
        max_input_length=_number(given, "EMBEDDING_MAX_INPUT_LENGTH", defaults.max_input_length),
        max_batch_size=_number(given, "EMBEDDING_MAX_BATCH_SIZE", defaults.max_batch_size),
        full_text=_switch(given, "FTS_ENABLED", defaults.full_text),
        backend=_backend(given),
    )
    if not found.full_text and not found.vectors:
        raise BadInput(
            "FTS_ENABLED",
            "keyword search is switched off and no embedding model is named",
            "Switch it on, or set EMBEDDING_MODEL_NAME.",
        )
    return found


def _number(given: Mapping[str, str], name: str, default: int) -> int:
    text = given.get(name, "").strip()
    if not text:
        return default
    if not text.isdecimal() or int(text) < 1:
        raise BadInput(text, f"{name} must be a whole number above 0", f"Leave it out: {default}.")
    return int(text)


def _switch(given: Mapping[str, str], name: str, default: bool) -> bool:
    text = given.get(name, "").strip().casefold()
    if not text:
        return default
    if text not in (*_YES, *_NO):
        raise BadInput(text, f"{name} must be true or false", "Use true or false.")
    return text in _YES


def _backend(given: Mapping[str, str]) -> Backend:
    text = given.get("MEMORY_STORE_BACKEND", "").strip().casefold() or "auto"
    if text not in _BACKENDS:
        raise BadInput(
            text, "MEMORY_STORE_BACKEND names no store", f"Use one of {', '.join(_BACKENDS)}."
        )
    return cast("Backend", text)
