"""CoPaw 1.0.2 with this library's memory: the manager its workspace, hook and commands use."""

from __future__ import annotations

from contextlib import suppress
from typing import Self

from copaw.agents.memory.base_memory_manager import BaseMemoryManager
from copaw.agents.model_factory import create_model_and_formatter
from copaw.agents.utils import get_copaw_token_counter
from copaw.config.config import load_agent_config
from copaw.exceptions import ProviderError

from agentscope_reme import ReMeCopaw


class FileMemoryManager(ReMeCopaw, BaseMemoryManager):
    """`ReMeCopaw` under the names and keyword arguments CoPaw 1.0.2 calls."""

    def __init__(self, working_dir: str, agent_id: str) -> None:
        config = load_agent_config(agent_id)
        super().__init__(
            working_dir,
            chat_model=None,  # CoPaw sets both when it builds an agent
            formatter=None,
            token_counter=get_copaw_token_counter(config),
            toolkit=None,
            max_input_length=config.running.max_input_length,
            memory_compact_ratio=config.running.context_compact.memory_compact_ratio,
            language=config.language,
            retention_days=config.running.tool_result_compact.retention_days,
        )
        self.working_dir, self.agent_id = working_dir, agent_id

    async def start(self) -> Self:
        """Open the memory with the model CoPaw would use: summaries left undone go on with it."""
        if self.chat_model is None:
            with suppress(ProviderError):  # none is chosen yet
                self.chat_model, self.formatter = create_model_and_formatter(self.agent_id)
        return await super().start()
