"""Auto Memory: save the turns, then distil them; or catch up on everything that waits."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final
from weakref import WeakValueDictionary

from pydantic import BaseModel, ConfigDict, Field

from agentscope_reme.errors import BadInput, NotFound
from agentscope_reme.messages import Message
from agentscope_reme.progress import followed
from agentscope_reme.results import AutoMemoryResult
from agentscope_reme.steps.base import Ref
from agentscope_reme.steps.distil import DistilStep
from agentscope_reme.steps.image_places import ImageTurns
from agentscope_reme.steps.images import prepare_images, save_images
from agentscope_reme.steps.record import RecordStep
from agentscope_reme.steps.requests import NamedRequest, earlier_answer, fingerprint_of
from agentscope_reme.steps.session import SessionStep, pending_sessions
from agentscope_reme.tools.answer_limit import capped_lines

_WHAT_IS_LEFT: Final = "`status` says what still waits."
_LOCKS: Final = "named requests"


class AutoMemoryArguments(BaseModel):
    """What Auto Memory reads from its run; see `ReMe.auto_memory`."""

    model_config = ConfigDict(frozen=True)

    messages: tuple[Message, ...] | None = None
    session_id: str | None = None
    date: datetime.date | None = None
    include_images: bool = False
    hint: str = ""
    request_id: str | None = Field(default=None, min_length=1, max_length=128)


class AutoMemoryStep(SessionStep[AutoMemoryResult]):
    """The entry point of conversational memory.

    With messages it records them and distils their session. Without messages it distils whatever
    is pending, of one session or of all of them.
    """

    record = RecordStep()
    distil = DistilStep()

    settings = Ref(lambda parts: parts.settings)
    agent = Ref(lambda parts: parts.agent)

    async def execute(self) -> AutoMemoryResult:
        """Run the call described by the run's values.

        Raises:
            BadInput: messages or a request id came without a session id, the id cannot name a
                file, an image cannot be used, or the request id belongs to another request;
                nothing was saved.
            NotFound: without messages: nothing was ever recorded in this session.
        """
        arguments = self.context.parse(AutoMemoryArguments)
        session_id = arguments.session_id
        if session_id is None:
            if arguments.messages is not None or arguments.request_id is not None:
                raise BadInput("session_id", "this call needs it", "Name the conversation.")
            return await self._catch_up()
        if arguments.request_id is None:
            return await self._run(arguments, session_id)
        return await self._run_named(arguments, session_id, arguments.request_id)

    async def _run_named(
        self, arguments: AutoMemoryArguments, session_id: str, request_id: str
    ) -> AutoMemoryResult:
        """The call once, and what it answered ever after; one named call of a session at a time."""
        fingerprint = await asyncio.to_thread(
            fingerprint_of,
            session_id=session_id,
            messages=arguments.messages,
            date=arguments.date,
            hint=arguments.hint,
            include_images=arguments.include_images,
        )
        request = NamedRequest(request_id, fingerprint)
        log = self.log_of(session_id)
        async with self._alone(session_id):
            known = await asyncio.to_thread(earlier_answer, log, request)
            if known is not None:
                return known
            self.context.values["request"] = request
            return await self._run(arguments, session_id)

    async def _run(self, arguments: AutoMemoryArguments, session_id: str) -> AutoMemoryResult:
        if arguments.messages is not None:
            if arguments.include_images:
                await self._take_images(arguments.messages, session_id)
            await self.record(self.context)
        else:
            self._require_log(session_id)
        return await self.distil(self.context)

    def _require_log(self, session_id: str) -> None:
        path = self.log_of(session_id).path
        if not self.workspace.locate_normalised(path).exists():
            raise NotFound(
                session_id, "nothing was recorded in this session", "Pass `messages`, or check it."
            )

    async def _take_images(self, messages: tuple[Message, ...], session_id: str) -> None:
        """Check the images, save the originals, and let the log refer to them."""
        turns = await asyncio.to_thread(self._prepared, messages, session_id)
        if turns is None:
            return
        await asyncio.to_thread(save_images, self.vault, turns.files)
        self.context.values.update(
            messages=turns.messages, image_sources=turns.sources, image_payloads=turns.payloads
        )

    def _prepared(self, messages: tuple[Message, ...], session_id: str) -> ImageTurns | None:
        return prepare_images(
            messages,
            self.log_of(session_id),
            agent=self.agent,
            most_images=self.settings.max_image_num,
        )

    @asynccontextmanager
    async def _alone(self, session_id: str) -> AsyncIterator[None]:
        shared = self.context.application.metadata.setdefault(_LOCKS, WeakValueDictionary())
        lock: asyncio.Lock = shared.setdefault(session_id, asyncio.Lock())
        async with lock:
            yield

    async def _catch_up(self) -> AutoMemoryResult:
        """Distil what waits; what failed is tried again as long as others succeed meanwhile."""
        await asyncio.to_thread(self.workspace.require)  # no logs may mean no drive
        left = await asyncio.to_thread(pending_sessions, self.context.application.components)
        total = AutoMemoryResult(answer="Nothing is waiting to be distilled.")
        ended: dict[str, AutoMemoryResult] = {}
        while left:
            for session_id in followed(left, "sessions"):
                ended[session_id] = await self.distil(self.context, session_id=session_id)
            failed = [session_id for session_id in left if not ended[session_id].success]
            left = failed if len(failed) < len(left) else []
        for one in ended.values():
            _add(total, one)
        if ended:
            rows = [f"{name}: {one.answer}" for name, one in ended.items()]
            total.answer, _ = capped_lines(rows, self.settings.tool_answer_bytes, _WHAT_IS_LEFT)
        return total


def _add(total: AutoMemoryResult, one: AutoMemoryResult) -> None:
    total.success = total.success and one.success
    total.pending = total.pending or one.pending
    total.created = total.created or one.created
    total.modified = total.modified or one.modified
    total.path = one.path or total.path
    total.date = one.date or total.date
    total.session_path = one.session_path
    total.images = list(dict.fromkeys([*total.images, *one.images]))
    total.auto_tag.extend(one.auto_tag)
    total.failed.extend(one.failed)
    total.model_calls += one.model_calls
