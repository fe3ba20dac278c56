"""Dream calls: daily notes become long-term knowledge, and topics to come back to."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from agentscope_reme.facade.base import Calls
from agentscope_reme.results import DreamResult, ProactiveResult

if TYPE_CHECKING:
    from agentscope_reme.steps.dream import AutoDreamStep, ProactiveStep


class DreamCalls(Calls):
    """Consolidate what was noted day by day, and see what may be worth raising."""

    @cached_property
    def _auto_dream_step(self) -> AutoDreamStep:
        from agentscope_reme.steps.dream import AutoDreamStep

        return AutoDreamStep()

    @cached_property
    def _proactive_step(self) -> ProactiveStep:
        from agentscope_reme.steps.dream import ProactiveStep

        return ProactiveStep()

    async def auto_dream(
        self,
        *,
        date: str | None = None,
        hint: str = "",
        scan_days: int = 2,
        max_units: int = 5,
        topic_count: int = 3,
        topic_diversity_days: int = 7,
        dry_run: bool = False,
    ) -> DreamResult:
        """Consolidate new daily notes into digest nodes, and choose the topics of the day.

        Daily notes, sessions and resources are never changed. All a dream writes is one change in
        `history`, which `undo` takes back. What does not fit into one run waits for the next one;
        what fails is tried again by it, however old it is.

        Args:
            date: ``YYYY-MM-DD``, the last day to look at; today without it.
            hint: what to pay attention to, for the model.
            scan_days: how many days to look at; more when no dream was finished for longer.
            max_units: how many units one run integrates.
            topic_count: how many topics the day's ``interests.yaml`` has at most.
            topic_diversity_days: topics of so many earlier days are not repeated.
            dry_run: ask the models, return the diff, and write nothing at all.

        Returns:
            ``success=False`` when a unit or a file failed, ``pending=True`` when something waits
            or another process dreams.

        Raises:
            BadInput: an argument is out of range.
            ModelRequired: there is no model that can run tools.
            StorageFailed: the disk refused; nothing is half done.
        """
        await self._ready()
        result = await self._auto_dream_step(
            self._engine.application,
            date=date,
            hint=hint,
            scan_days=scan_days,
            max_units=max_units,
            topic_count=topic_count,
            topic_diversity_days=topic_diversity_days,
            dry_run=dry_run,
        )
        self._engine.embed_soon()
        return result

    async def proactive(self, *, date: str | None = None) -> ProactiveResult:
        """The topics of a day, as its ``interests.yaml`` says; it needs no model.

        Args:
            date: ``YYYY-MM-DD``; today without it.

        Returns:
            ``success=False`` when the file is there and cannot be read.

        Raises:
            BadInput: the date is none.
        """
        await self._ready()
        return await self._proactive_step(self._engine.application, date=date)
