"""What names a model: its provider, its name, its key and where it answers."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from agentscope_reme.errors import BadInput

ChatBackend = Literal[
    "openai",
    "dashscope",
    "anthropic",
    "gemini",
    "ollama",
    "deepseek",
    "moonshot",
    "minimax",
    "volcengine",
    "xai",
]
"""Providers of chat models. The five behind ``ollama`` need AgentScope 2.x; ``openai`` is also
everybody who speaks its protocol at ``base_url``."""

EmbeddingBackend = Literal["openai", "dashscope", "gemini", "ollama", "local"]
"""Providers of embedding models; ``local`` is `LocalEmbedding`, which needs nothing but itself."""

NO_KEY: Final = "none"
"""What stands for the key of a service that asks for none; clients insist on one."""

_KEYLESS: Final = ("ollama", "local")


class _ModelConfig(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", protected_namespaces=(), defer_build=True
    )

    backend: str = "openai"
    """The provider, or whose protocol it speaks."""

    model_name: str = ""
    """As the provider calls it; without a name there is no model."""

    api_key: SecretStr = SecretStr("")
    """The provider's key; services of one's own ask for none."""

    base_url: str | None = None
    """Where it answers; the provider's own address without it."""

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """A mapping as people write it, such as ``{"backend": "openai", "model_name": "m"}``.

        Raises:
            BadInput: a key is unknown, or its value does not fit; values are never repeated.
        """
        try:
            return cls(**{str(key): value for key, value in given.items()})
        except ValidationError as error:
            fault = error.errors(include_url=False, include_input=False)[0]
            raise _refused(cls, ".".join(map(str, fault["loc"])), fault) from None

    @property
    def has_key(self) -> bool:
        """Whether a key was given, be it ``none``, or the provider asks for none."""
        return bool(self.api_key.get_secret_value()) or self.backend in _KEYLESS

    @property
    def reachable(self) -> bool:
        """Whether it can be asked: with a key, or at an address of one's own without."""
        return self.has_key or bool(self.base_url)

    @property
    def key(self) -> str:
        """The key in clear, for the client that needs it."""
        return self.api_key.get_secret_value() or NO_KEY


class ChatModelConfig(_ModelConfig):
    """A chat model of AgentScope."""

    backend: ChatBackend = "openai"
    """The provider, or whose protocol it speaks."""

    stream: bool = False
    """Whether answers come in pieces."""

    parameters: dict[str, Any] = Field(default_factory=dict)
    """What goes along with every request, such as ``temperature`` and ``max_tokens``."""

    @property
    def named(self) -> bool:
        """Whether there is a model to call."""
        return bool(self.model_name)


class EmbeddingModelConfig(_ModelConfig):
    """An embedding model of AgentScope, or the local one."""

    backend: EmbeddingBackend = "openai"
    """The provider, whose protocol it speaks, or ``local``."""

    dimensions: int = Field(default=1024, ge=1)
    """Numbers per vector, as documented for `ReMeCopaw`; the local model has its own width."""

    @property
    def named(self) -> bool:
        """Whether there is a model to call; the local one needs no name."""
        return self.backend == "local" or bool(self.model_name)


def _refused(cls: type[_ModelConfig], key: str, fault: Mapping[str, Any]) -> BadInput:
    if fault["type"] != "extra_forbidden":
        return BadInput(key, f"it does not fit: {fault['msg']}", "See docs/configuration.md.")
    near = get_close_matches(key, cls.model_fields, 1)
    advice = f"Did you mean `{near[0]}`?" if near else f"Use {', '.join(cls.model_fields)}."
    return BadInput(key, f"`{cls.__name__}` has no such key", advice)
