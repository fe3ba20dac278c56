"""What a step can reach: the data of its run, and the components of its application."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from agentscope_reme.errors import BadInput

if TYPE_CHECKING:
    from agentscope_reme.clock import Clock
    from agentscope_reme.files.disk import Disk
    from agentscope_reme.files.locks import WorkspaceLocks
    from agentscope_reme.files.session_logs import SessionLogs
    from agentscope_reme.ports import AgentPort, ChatPort
    from agentscope_reme.runtime.embedder import Embedder
    from agentscope_reme.runtime.failures import FailureLog
    from agentscope_reme.runtime.log_indexing import LogIndexing
    from agentscope_reme.settings import Settings
    from agentscope_reme.store.base import BaseFileStore
    from agentscope_reme.tools.redaction import Redactor
    from agentscope_reme.vault.vault import Vault
    from agentscope_reme.workspace import Workspace

A = TypeVar("A", bound=BaseModel)
NO_TOOLS: Final = "this model runs no tools (method `run`)"
"""What is wrong with an object that only completes."""
_NO_MODEL: Final = (
    "there is no model; pass `chat_model=`, or set `llm` in the configuration, as "
    "REME_LLM_API_KEY and REME_LLM_MODEL_NAME do"
)


@dataclass(frozen=True, slots=True)
class Components:
    """The long-lived parts of one workspace, built once by the engine and never replaced.

    ``chat``, ``agent`` and ``embedder`` are ``None`` when no model was given.
    """

    workspace: Workspace
    settings: Settings
    clock: Clock
    language: str
    disk: Disk
    locks: WorkspaceLocks
    logs: SessionLogs
    store: BaseFileStore
    vault: Vault
    log_indexing: LogIndexing
    failures: FailureLog
    redactor: Redactor
    chat: ChatPort | None = None
    agent: AgentPort | None = None
    embedder: Embedder | None = None

    @property
    def why_no_agent(self) -> str:
        """Why nothing can be done that needs an agent with tools; empty when it can."""
        if self.agent is not None:
            return ""
        return self.agent_lacks or _NO_MODEL

    @property
    def agent_lacks(self) -> str:
        """What the model that was given cannot do that an agent needs; empty without a model."""
        return NO_TOOLS if self.agent is None and self.chat is not None else ""


@dataclass(frozen=True, slots=True)
class ApplicationContext:
    """What all runs of one application share.

    ``metadata`` holds shared application data, such as what a tool context was already shown.
    """

    components: Components
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class RuntimeContext:
    """The data of one run.

    ``now`` is read once, when the run begins, so that one operation never sees two days.
    """

    application: ApplicationContext
    values: dict[str, Any] = field(default_factory=dict)
    now: datetime = field(init=False)

    def __post_init__(self) -> None:
        self.now = self.application.components.clock.now()

    @classmethod
    def from_context(
        cls, context: RuntimeContext | ApplicationContext | None, **values: Any
    ) -> RuntimeContext:
        """Continue a run with more values, or begin one.

        A given RuntimeContext is kept, so the steps of a workflow share its data.

        Raises:
            BadInput: there is no application to run in.
        """
        if isinstance(context, RuntimeContext):
            context.values.update(values)
            return context
        if context is None:
            raise BadInput(
                "context",
                "a step needs an application context",
                "Pass the context to the call, or `application=` to the step.",
            )
        return cls(context, values)

    def apply_mapping(self, mapping: Mapping[str, str]) -> None:
        """Copy values to other names: ``{"from": "to"}``. Absent names are left alone."""
        found = {new: self.values[old] for old, new in mapping.items() if old in self.values}
        self.values.update(found)

    def parse(self, arguments: type[A]) -> A:
        """The values a step declares, validated into its arguments type; others are ignored.

        Raises:
            BadInput: a value is missing or has the wrong type or range.
        """
        known = {key: self.values[key] for key in arguments.model_fields if key in self.values}
        try:
            return arguments.model_validate(known)
        except ValidationError as error:
            first = error.errors()[0]
            name = ".".join(str(part) for part in first["loc"]) or arguments.__name__
            remedy = f"Check the argument `{name}`."
            if first["type"].startswith("date_"):
                remedy = f"Give `{name}` as YYYY-MM-DD."
            raise BadInput(first.get("input"), f"`{name}`: {first['msg']}", remedy) from error
