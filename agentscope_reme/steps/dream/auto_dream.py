"""Auto Dream: the four steps in order, by one process at a time."""

from __future__ import annotations

from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from agentscope_reme.errors import ModelRequired
from agentscope_reme.results import DreamResult
from agentscope_reme.steps.base import BaseStep, Ref, run_workflow
from agentscope_reme.steps.dream.extract import DreamExtractStep
from agentscope_reme.steps.dream.finish import DreamFinishStep
from agentscope_reme.steps.dream.integrate import DreamIntegrateStep
from agentscope_reme.steps.dream.topics import DreamTopicsStep

CLAIM: Final = "dream"
"""Who holds it dreams."""

DREAM: Final[tuple[BaseStep[Any], ...]] = (
    DreamExtractStep(),
    DreamIntegrateStep(),
    DreamTopicsStep(),
    DreamFinishStep(),
)
"""The workflow of a dream."""


class AutoDreamArguments(BaseModel):
    """What the whole reads from its run; the steps read the rest."""

    model_config = ConfigDict(frozen=True)

    dry_run: bool = False


class AutoDreamStep(BaseStep[DreamResult]):
    """Consolidates daily notes into digest nodes, and chooses the topics of the day."""

    agent = Ref(lambda parts: parts.agent)
    lacks = Ref(lambda parts: parts.agent_lacks)
    locks = Ref(lambda parts: parts.locks)

    async def execute(self) -> DreamResult:
        """Dream once; while another task or process dreams, say that it is pending.

        Raises:
            BadInput: an argument is out of range.
            ModelRequired: there is no model that can run tools.
            StorageFailed: the disk refused; nothing is half done.
        """
        arguments = self.context.parse(AutoDreamArguments)
        if self.agent is None:
            raise ModelRequired("auto_dream", lacks=self.lacks)
        if arguments.dry_run:
            return await self._dream()
        with self.locks.claim(CLAIM) as mine:
            if mine:
                return await self._dream()
        return DreamResult(pending=True, answer="Another task or process is dreaming already.")

    async def _dream(self) -> DreamResult:
        result: DreamResult = await run_workflow(DREAM, self.context)
        return result
