"""Settings of the backend: ``running.memory_backend_configs.agentscope_reme`` of an agent."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field
from qwenpaw.memory import MemoryBackendContext

DEFAULT_FOLDER = "agentscope-reme"


class MemoryConfig(BaseModel):
    """Unknown names are refused, so that a mistyped setting is not silently ignored."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    workspace_dir: str = ""
    """Where memories live, absolute or below QwenPaw's working directory; one folder for each agent
    is made in it. Empty: ``agentscope-reme``, outside the folder the agents' file tools work in."""

    timezone: str = ""
    """An IANA name, in which days begin. Empty: QwenPaw's ``user_timezone``."""

    turns_per_card: int = Field(default=5, ge=1)
    """Every turn is saved at once; a model is asked to write the card after so many of them."""

    recall: bool = True
    """Show the model what memory knows about a question before it answers."""

    recall_budget_tokens: int = Field(default=1500, ge=50)
    """How much recalled text a prompt gets, in estimated tokens."""

    dream_cron: str = "0 23 * * *"
    """When notes are turned into long-term knowledge, as five cron fields. Empty: never."""

    people: dict[str, str] = Field(default_factory=dict)
    """One person under several names: ``{"telegram:4711": "console:default"}`` lets the two
    channels share a memory. Without it every ``channel:user`` has a memory of its own."""

    most_open: int = Field(default=32, ge=1)
    """Memories kept open at once; the one that was idle longest is closed first."""

    def folder(self, context: MemoryBackendContext) -> Path:
        """The folder of one agent's memories; QwenPaw makes folders of its agent ids itself."""
        root = Path(self.workspace_dir or DEFAULT_FOLDER).expanduser()
        return context.host_working_dir / root / context.agent_id
