"""Run inside CoPaw's environment: choose the loopback model and English for the agent.

``python prepare.py <address of the provider> <model>``
"""

from __future__ import annotations

import asyncio
import json
import sys

from copaw.constant import WORKING_DIR
from copaw.providers import ModelInfo, ProviderInfo, ProviderManager


async def choose_model(address: str, model: str) -> None:
    """What a person does on the page of model providers."""
    manager = ProviderManager.get_instance()
    await manager.add_custom_provider(
        ProviderInfo(
            id="loopback",
            name="Loopback",
            base_url=address,
            api_key="sk-loopback",
            # Else CoPaw shows the model pictures to find out.
            extra_models=[ModelInfo(id=model, name=model, supports_multimodal=False)],
        )
    )
    await manager.activate_model("loopback", model)


def choose_language() -> None:
    """What a person does on the page of an agent."""
    place = WORKING_DIR / "workspaces" / "default" / "agent.json"
    agent = json.loads(place.read_text(encoding="utf-8"))
    agent["language"] = "en"
    place.write_text(json.dumps(agent), encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(choose_model(sys.argv[1], sys.argv[2]))
    choose_language()
