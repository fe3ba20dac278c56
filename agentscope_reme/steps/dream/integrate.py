"""Integrate: each unit reaches one digest node, or stays owed."""

from __future__ import annotations

import asyncio
import datetime

from pydantic import BaseModel, ConfigDict, Field

from agentscope_reme.errors import ModelRequired, ReMeError
from agentscope_reme.files.dream_progress import WaitingUnit
from agentscope_reme.ports import AgentPort
from agentscope_reme.progress import followed
from agentscope_reme.results import DreamResult
from agentscope_reme.steps.base import BaseStep, Ref
from agentscope_reme.steps.dream.proposal import RefusedError
from agentscope_reme.steps.dream.run import DreamRun, Integrated, dream_run
from agentscope_reme.steps.dream.unit_run import UnitRun, evidence_of


class IntegrateArguments(BaseModel):
    """What an integration reads from its run; see `ReMe.auto_dream`."""

    model_config = ConfigDict(frozen=True)

    date: datetime.date | None = None
    hint: str = Field(default="", max_length=2000)
    dry_run: bool = False


class DreamIntegrateStep(BaseStep[DreamResult]):
    """Runs an agent for each chosen unit and stages what passes the rules.

    A change that breaks a rule goes back to the agent once, in words; then the unit fails and is
    tried again by the next run. Nothing is written here.
    """

    settings = Ref(lambda parts: parts.settings)
    agent = Ref(lambda parts: parts.agent)
    lacks = Ref(lambda parts: parts.agent_lacks)
    failures = Ref(lambda parts: parts.failures)

    async def execute(self) -> DreamResult:
        """Integrate the units an extraction of the same run has chosen.

        Raises:
            ModelRequired: there are units and no model.
        """
        arguments = self.context.parse(IntegrateArguments)
        day = (arguments.date or self.context.now.date()).isoformat()
        run = await asyncio.to_thread(dream_run, self.context, day=day, dry_run=arguments.dry_run)
        if run.chosen and self.agent is None:
            raise ModelRequired("auto_dream", lacks=self.lacks)
        for unit in followed(run.chosen, "units"):
            if self.agent is None or not self._affordable(run):
                break  # the rest stays owed
            await self._integrate(run, unit, self.agent, arguments.hint)
        return run.result()

    def _affordable(self, run: DreamRun) -> bool:
        """Whether the calls left suffice for a whole agent run, or at least none was made yet."""
        return run.budget.left >= min(self.settings.agent_max_iters, run.budget.limit - 1)

    async def _integrate(
        self, run: DreamRun, unit: WaitingUnit, agent: AgentPort, hint: str
    ) -> None:
        application = self.context.application
        evidence = await asyncio.to_thread(evidence_of, unit, application)
        if not evidence:
            run.fail_unit(unit, "its notes are gone or empty")
            return
        unit_run = UnitRun(application, agent, run, unit, evidence, hint)
        try:
            made = await self._twice_at_most(unit_run, run)
            await asyncio.to_thread(_stage, run, made)
        except RefusedError as error:
            run.fail_unit(unit, f"refused: {error}")
        except ReMeError as error:
            self.failures.report("auto_dream", error)
            run.fail_unit(unit, str(error))

    async def _twice_at_most(self, unit_run: UnitRun, run: DreamRun) -> Integrated:
        try:
            return await unit_run.attempt()
        except RefusedError as error:
            if not self._affordable(run):
                raise
            refused = error
        return await unit_run.attempt(refused)


def _stage(run: DreamRun, made: Integrated) -> None:
    if made.data is not None:
        run.staged.write(made.target, made.data)
    run.integrated.append(made)
