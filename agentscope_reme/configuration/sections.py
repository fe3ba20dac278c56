"""What can be configured, and the values that hold where nobody says otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    SecretStr,
    model_validator,
)

from agentscope_reme.model_configs import ChatModelConfig, EmbeddingModelConfig
from agentscope_reme.settings import Settings

DEFAULT = "default"
"""The origin of a value nobody gave."""
COMMAND_LINE = "command line"
"""The origin of what was written as ``key=value``."""


class _Section(BaseModel):
    # Most commands need one of them: each is worked out when it is made, or another that holds it.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class ChatSection(_Section):
    """The terminal assistant."""

    context_window_tokens: int = Field(default=100_000, ge=1000)
    """What the model reads at once, in estimated tokens."""

    reserve_tokens: int = Field(default=30_000, ge=0)
    """Kept free of it: a conversation beyond window minus reserve is compacted."""

    keep_recent_tokens: int = Field(default=10_000, ge=0)
    """How much of the newest turns stays as it was said."""

    vector_weight: float = Field(default=0.7, ge=0, le=1)
    """Share of meaning, against words, in a search."""

    candidate_multiplier: float = Field(default=2.0, ge=1)
    """How many candidates a search looks at for each answer."""

    permission: Literal["ask", "allow", "deny"] = "ask"
    """Whether commands and writes outside the workspace are asked about, done or refused."""

    command_timeout_seconds: float = Field(default=60.0, gt=0)
    """When a command of the assistant is stopped, in seconds."""

    tavily_api_key: SecretStr = SecretStr("")
    """The key of Tavily; without one there is no search on the web."""

    tavily_base_url: str = "https://api.tavily.com"
    """Where it answers."""

    @model_validator(mode="after")
    def _leaves_room(self) -> Self:
        if self.reserve_tokens + self.keep_recent_tokens >= self.context_window_tokens:
            raise ValueError(
                "reserve_tokens and keep_recent_tokens together must be below context_window_tokens"
            )
        return self


class ServiceSection(_Section):
    """The service on this machine."""

    host: str = "127.0.0.1"
    """An address of the loopback interface."""

    port: int = Field(default=7363, ge=0, le=65535)
    """Where it listens; with 0 the system chooses."""

    transport: Literal["http", "stdio"] = "http"
    """HTTP and MCP, or MCP on standard input and output."""

    token: Literal["file", "none"] = "file"  # noqa: S105 - where it is kept, not what it is
    """Whether callers must show a token, kept in a file only its owner can read."""

    jobs: list[str] | None = None
    """The jobs that are served; all of them without it."""

    read_only: bool = False
    """Serve only jobs that change nothing."""


class VectorStoreSection(_Section):
    """Where `VectorReMe` keeps its nodes."""

    backend: Literal["local", "chroma", "qdrant", "elasticsearch", "es"] = "local"
    """The store."""

    options: dict[str, Any] = Field(default_factory=dict)
    """What that store takes besides."""


class Configuration(_Section):
    """Everything that can be configured; made by `load`."""

    workspace_dir: str = ".reme"
    """The folder of the memory, seen from the current directory."""

    user: str | None = None
    """Whose memory it is, where several share a folder."""

    language: Literal["en", "zh"] = "en"
    """Of prompts and notices."""

    timezone: str | None = None
    """An IANA name; the machine's own without it."""

    settings: Settings = Field(default_factory=Settings)
    """Limits and budgets."""

    llm: ChatModelConfig = Field(default_factory=ChatModelConfig)
    """The chat model."""

    embedding: EmbeddingModelConfig = Field(default_factory=EmbeddingModelConfig)
    """The embedding model."""

    chat: ChatSection = Field(default_factory=ChatSection)
    """The terminal assistant."""

    service: ServiceSection = Field(default_factory=ServiceSection)
    """The service on this machine."""

    vector_store: VectorStoreSection = Field(default_factory=VectorStoreSection)
    """Where `VectorReMe` keeps its nodes."""

    _origins: Mapping[str, str] = PrivateAttr(default_factory=dict)

    def origin(self, key: str) -> str:
        """Where a value came from: ``reme.yaml:12``, an environment variable, ``default``.

        Args:
            key: dotted, such as ``llm.model_name``.
        """
        return self._origins.get(key, DEFAULT)

    @property
    def origins(self) -> Mapping[str, str]:
        """The origin of every value that is no default, by dotted key."""
        return self._origins

    @property
    def memory(self) -> dict[str, Any]:
        """The arguments of `ReMe` that need no model."""
        return {
            "workspace_dir": self.workspace_dir,
            "user": self.user,
            "language": self.language,
            "timezone": self.timezone,
            "settings": self.settings,
        }


def with_origins(configuration: Configuration, origins: Mapping[str, str]) -> Configuration:
    """The same values, knowing where they came from."""
    known = configuration.model_copy()
    known._origins = MappingProxyType(dict(origins))
    return known
