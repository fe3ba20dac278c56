"""Auto Memory: save the turns, then distil them; or catch up on everything that waits."""

from __future__ import annotations

import asyncio
import datetime

from pydantic import BaseModel, ConfigDict

from agentscope_reme.errors import BadInput
from agentscope_reme.messages import Message
from agentscope_reme.results import AutoMemoryResult
from agentscope_reme.steps.distil import DistilStep
from agentscope_reme.steps.record import RecordStep
from agentscope_reme.steps.session import SessionStep, pending_sessions


class AutoMemoryArguments(BaseModel):
    """What Auto Memory reads from its run; see `ReMe.auto_memory`."""

    model_config = ConfigDict(frozen=True)

    messages: tuple[Message, ...] | None = None
    session_id: str | None = None
    date: datetime.date | None = None
    hint: str = ""


class AutoMemoryStep(SessionStep[AutoMemoryResult]):
    """The entry point of conversational memory.

    With messages it records them and distils their session. Without messages it distils whatever
    is pending, of one session or of all of them.
    """

    record = RecordStep()
    distil = DistilStep()

    async def execute(self) -> AutoMemoryResult:
        """Run the call described by the run's values.

        Raises:
            BadInput: messages came without a session id, or the id cannot name a file.
        """
        arguments = self.context.parse(AutoMemoryArguments)
        if arguments.messages is not None:
            if arguments.session_id is None:
                raise BadInput(None, "`session_id` is missing", "Name the conversation.")
            await self.record(self.context)
            return await self.distil(self.context)
        if arguments.session_id is not None:
            return await self.distil(self.context)
        return await self._catch_up()

    async def _catch_up(self) -> AutoMemoryResult:
        waiting = await asyncio.to_thread(pending_sessions, self.context.application.components)
        total = AutoMemoryResult(answer="Nothing is waiting to be distilled.")
        answers = []
        for session_id in waiting:
            one = await self.distil(self.context, session_id=session_id)
            answers.append(f"{session_id}: {one.answer}")
            _add(total, one)
        if answers:
            total.answer = "\n".join(answers)
        return total


def _add(total: AutoMemoryResult, one: AutoMemoryResult) -> None:
    total.success = total.success and one.success
    total.pending = total.pending or one.pending
    total.created = total.created or one.created
    total.modified = total.modified or one.modified
    total.path = one.path or total.path
    total.date = one.date or total.date
    total.session_path = one.session_path
    total.failed.extend(one.failed)
    total.model_calls += one.model_calls
