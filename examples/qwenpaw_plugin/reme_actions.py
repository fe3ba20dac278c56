"""What a person can ask of their memory with ``/reme``, and what happens every night."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from qwenpaw.app.crons.contracts import ServiceCronJob
from qwenpaw.memory import BaseMemoryManager
from reme_config import MemoryConfig
from reme_host_model import HostModel
from reme_people import People

from agentscope_reme import ReMeError

_NOTHING: dict[str, Any] = {"type": "object", "properties": {}}
_SEARCH: dict[str, Any] = {
    "type": "object",
    "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}},
    "required": ["query"],
}
_ACTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "status": ("Counts, queues and failures.", _NOTHING),
    "search": ("Find passages.", _SEARCH),
    "auto_memory": ("Write the cards that wait.", _NOTHING),
    "auto_dream": ("Turn new notes into long-term knowledge.", _NOTHING),
    "proactive": ("Topics worth coming back to today.", _NOTHING),
}
_WITH_MODEL = ("auto_memory", "auto_dream")


@dataclass(frozen=True, slots=True)
class Answer:
    """What QwenPaw shows after ``/reme <action>``."""

    success: bool
    answer: str
    metadata: dict[str, Any] | None = None


class MemoryActions(BaseMemoryManager):
    """QwenPaw's action protocol and its nightly jobs, over the memories of `People`."""

    _config: MemoryConfig
    _people: People
    _model: HostModel

    def _person(self) -> str | None:
        raise NotImplementedError

    async def list_actions(self) -> dict[str, Any]:
        """What ``/reme`` offers, each for the memory of the person who asks."""
        return {
            name: {"description": description, "parameters": parameters}
            for name, (description, parameters) in _ACTIONS.items()
        }

    async def run_action(self, action: str, **kwargs: Any) -> Answer:
        """Run one of `list_actions`."""
        if action not in _ACTIONS:
            raise ValueError(f"Unknown memory action: {action}")
        if action in _WITH_MODEL:
            await self._model.offered()
        async with self._people.memory_of(self._person()) as reme:
            result = await getattr(reme, action)(**kwargs)
        return Answer(result.success, result.answer)

    def list_cron_jobs(self) -> list[ServiceCronJob]:
        """The nightly consolidation, unless it is switched off."""
        cron = self._config.dream_cron
        return [ServiceCronJob(key="dream", cron=cron, callback=self.dream)] if cron else []

    async def dream(self) -> None:
        """Consolidate the notes of everybody the agent talked with since it was started."""
        if not await self._model.offered():
            return
        for person in sorted(filter(None, self._people.seen)):
            async with self._people.memory_of(person) as reme:
                try:
                    await reme.auto_dream()
                except ReMeError as error:  # the others' notes do not wait for this one's
                    reme.report_failure("auto_dream", error)
