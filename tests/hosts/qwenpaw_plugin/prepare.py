"""Run inside QwenPaw's environment: choose the loopback model, and our memory for an agent.

``python prepare.py <address of the provider> <model>``
"""

from __future__ import annotations

import asyncio
import json
import sys

from qwenpaw.constant import WORKING_DIR
from qwenpaw.providers import ProviderManager
from qwenpaw.providers.provider import ModelInfo, ProviderInfo


async def choose_model(address: str, model: str) -> None:
    """What a person does on the page of model providers."""
    manager = ProviderManager.get_instance()
    await manager.add_custom_provider(
        ProviderInfo(
            id="loopback",
            name="Loopback",
            base_url=address,
            api_key="sk-loopback",
            # Else QwenPaw shows the model pictures to find out.
            extra_models=[ModelInfo(id=model, name=model, supports_multimodal=False)],
        )
    )
    await manager.activate_model("loopback", model)


def choose_memory(backend: str) -> None:
    """What a person does on the page of an agent's memory."""
    place = WORKING_DIR / "workspaces" / "default" / "agent.json"
    agent = json.loads(place.read_text(encoding="utf-8"))
    agent["language"] = "en"
    agent["running"]["memory_manager_backend"] = backend
    agent["running"]["memory_backend_configs"] = {backend: {"turns_per_card": 1}}
    place.write_text(json.dumps(agent), encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(choose_model(sys.argv[1], sys.argv[2]))
    choose_memory("agentscope_reme")
