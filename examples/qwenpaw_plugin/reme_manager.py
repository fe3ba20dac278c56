"""QwenPaw's memory backend over `ReMe`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from agentscope.message import Msg, TextBlock, ToolResultState
from agentscope.tool import ToolChunk
from qwenpaw.app.agent_context import (
    get_current_channel,
    get_current_session_id,
    get_current_user_id,
)
from qwenpaw.config import load_config
from qwenpaw.memory import AutoMemorySearchOptions, MemoryBackendContext
from reme_actions import MemoryActions
from reme_config import MemoryConfig
from reme_host_model import HostModel
from reme_people import People
from reme_texts import guidance

from agentscope_reme import ReMe, ReMeError, Settings

logger = logging.getLogger(__name__)

CLOSE_SECONDS = 4.0  # QwenPaw itself gives the queue of its memories five seconds
QUERY_CHARACTERS = 1000  # the base class would search with the first 50


class FileMemoryManager(MemoryActions):
    """A memory for each person an agent talks with, in a workspace of its own.

    The person is ``channel:user`` of the request, so one agent that serves many people mixes no
    two of them. Calls outside a request belong to the agent itself. Every turn is on the disk
    before it waits for anything; a model, where QwenPaw offers one, writes the cards afterwards.
    """

    def __init__(self, context: MemoryBackendContext) -> None:
        super().__init__(context=context)
        self._context = context
        self._config = MemoryConfig.model_validate(dict(context.backend_config))
        self._model = HostModel(context.agent_id)
        self._people = People(self._open, self._config.most_open)
        self._saving: set[asyncio.Task[int]] = set()

    async def start(self) -> None:
        """Open the agent's own memory, so that a folder that cannot be used is found out now."""
        await self._model.offered()
        async with self._people.memory_of(None):
            logger.info("agentscope-reme remembers in %s", self._config.folder(self._context))

    async def _close_backend(self) -> bool:
        outcomes = await asyncio.gather(*self._saving, return_exceptions=True)
        await self._people.close()
        return not any(isinstance(outcome, BaseException) for outcome in outcomes)

    def get_memory_prompt(self) -> str:
        """What the agent is told about its memory."""
        return guidance(self._context.language)

    def list_memory_tools(self) -> list[Callable[..., Any]]:
        """The tools of the agent; both only read."""
        return [self.memory_search, self.memory_read]

    async def memory_search(self, query: str, max_results: int = 5, **kwargs: Any) -> ToolChunk:
        """Search the long-term memory: earlier conversations, notes and decisions.

        Args:
            query: words to look for, in any language.
            max_results: how many passages to return.
        """
        return await self._use("memory_search", query=query, limit=max_results)

    async def memory_read(self, path: str, start_line: int = 1, end_line: int = 200) -> ToolChunk:
        """Read lines of a memory file that memory_search named.

        Args:
            path: the file, as memory_search spelled it.
            start_line: the first line.
            end_line: the last line.
        """
        return await self._use("read", path=path, start_line=start_line, end_line=end_line)

    def get_auto_memory_interval(self) -> int:
        """Every turn is handed over; how often a model is asked is `turns_per_card`."""
        return 1

    def submit_auto_memory(
        self, messages: list[Msg], *, trigger: str = "manual", **kwargs: Any
    ) -> str:
        """Save the turns now, and queue what is to follow.

        Person and session are read here: the queue's worker runs in the context of whoever started
        it. Saving does not wait in the queue, where a slow model may stand before it.
        """
        if self._auto_memory_worker_stopping:
            raise RuntimeError("the memory is closing; the turns stay in the session")
        person, session_id = self._person(), _session(kwargs)
        at_once = trigger != "periodic"
        saving = asyncio.create_task(self._save(person, session_id, messages, distil=not at_once))
        self._saving.add(saving)
        saving.add_done_callback(self._saving.discard)
        kwargs |= {"session_id": session_id, "person": person, "at_once": at_once}
        return super().submit_auto_memory(messages, trigger=trigger, saving=saving, **kwargs)

    async def auto_memory(self, messages: list[Msg], **kwargs: Any) -> str:
        """Save turns and let a model write their card; returns what happened, in words."""
        person, session_id = kwargs.get("person", self._person()), _session(kwargs)
        saving = kwargs.get("saving") or self._save(person, session_id, messages)
        # Who gives up waiting for the card does not give up what was said.
        saved = f"{await asyncio.shield(saving)} new messages saved"
        if not await self._model.offered():
            return f"{saved}; they wait until QwenPaw has a model."
        if not kwargs.get("at_once", True):
            return f"{saved}."
        async with self._people.memory_of(person) as reme:
            hint = str(kwargs.get("memory_hint") or "")
            return (await reme.auto_memory(session_id=session_id, hint=hint)).answer

    async def get_auto_memory_search_options(self) -> AutoMemorySearchOptions | None:
        """Whether recall is on."""
        return AutoMemorySearchOptions() if self._config.recall else None

    async def _search_for_auto_memory(
        self, *, query: str, options: AutoMemorySearchOptions
    ) -> ToolChunk | None:
        async with self._people.memory_of(self._person()) as reme:
            patience = reme.settings.recall_deadline_ms / 1000
            try:
                async with asyncio.timeout(patience):
                    pack = await reme.recall(query, budget_tokens=self._config.recall_budget_tokens)
            except (ReMeError, TimeoutError) as error:
                reme.report_failure("recall", error)
                return None
        return _chunk(pack.answer) if pack.evidence else None

    @staticmethod
    def _build_query(messages: list[Msg]) -> str:
        spoken = (msg.get_text_content() or "" for msg in reversed(messages) if msg.role == "user")
        return next((text.strip() for text in spoken if text.strip()), "")[:QUERY_CHARACTERS]

    async def _use(self, name: str, **arguments: Any) -> ToolChunk:
        try:
            async with self._people.memory_of(self._person()) as reme:
                output = await reme.tools(include=[name])[0].call(arguments)
        except ReMeError as error:  # the memory cannot be opened
            return _chunk(str(error), success=False)
        return _chunk(output.text, success=output.success)

    async def _save(
        self, person: str | None, session_id: str, messages: list[Msg], *, distil: bool = False
    ) -> int:
        spoken = self._messages_without_auto_memory_search(messages)
        async with self._people.memory_of(person) as reme:
            result = await reme.record(session_id, spoken, distil=distil and self._model.ready)
        return result.appended

    def _person(self) -> str | None:
        user = get_current_user_id()
        if not user:
            return None
        # A user id comes from outside and may hold anything: it must not read as a path.
        for sign in "%/\\":
            user = user.replace(sign, f"%{ord(sign):02X}")
        person = f"{get_current_channel() or 'unknown'}:{user}"
        return self._config.people.get(person, person)

    def _open(self, person: str | None) -> ReMe:
        config = self._config
        return ReMe(
            config.folder(self._context),
            user=person,
            chat_model=self._model,
            language="zh" if self._context.language.lower().startswith("zh") else "en",
            timezone=config.timezone or load_config().user_timezone or None,
            settings=Settings(
                close_drain_seconds=CLOSE_SECONDS,
                record_every_turns=config.turns_per_card,
                recall_budget_tokens=config.recall_budget_tokens,
            ),
        )


def _session(kwargs: dict[str, Any]) -> str:
    return str(kwargs.get("session_id") or get_current_session_id() or "unnamed")


def _chunk(text: str, *, success: bool = True) -> ToolChunk:
    state = ToolResultState.SUCCESS if success else ToolResultState.ERROR
    return ToolChunk(content=[TextBlock(text=text)], state=state)
