"""What QwenPaw loads: registers the memory backend ``agentscope_reme``."""

from __future__ import annotations

from typing import Any

from reme_config import MemoryConfig
from reme_manager import FileMemoryManager

BACKEND_ID = "agentscope_reme"


class MemoryPlugin:
    """The plug-in object QwenPaw's loader asks for."""

    def register(self, api: Any) -> None:
        """Tell QwenPaw about the backend, its settings and the tool it does not know yet."""
        api.register_memory_backend(
            backend_id=BACKEND_ID,
            factory=FileMemoryManager,
            label="agentscope-reme (files)",
            config_schema=MemoryConfig,
            metadata={
                "description": "Memory in local Markdown files, one workspace for each person.",
                "network_access": False,
                "secret_fields": [],
                # A tool without an identity here would be denied by QwenPaw's governance.
                "tools": {
                    "memory_read": {
                        "python_name": "memory_read",
                        "policy_name": "MemoryRead",
                        "tool_type": "internal",
                    }
                },
            },
        )


plugin = MemoryPlugin()
