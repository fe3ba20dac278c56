"""`ReMeCopaw`, the memory CoPaw-style hosts inherit from."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final, Self

from agentscope_reme.clock import Clock
from agentscope_reme.copaw.embeddings import embeddings_of
from agentscope_reme.copaw.environment import EmbeddingEnvs, read_environment
from agentscope_reme.copaw.service import CopawCalls, CurrentModel
from agentscope_reme.copaw.stores import store_of
from agentscope_reme.copaw.summary_calls import SummaryCalls
from agentscope_reme.copaw.window_calls import WindowCalls
from agentscope_reme.engine import Engine
from agentscope_reme.errors import BadInput, ReMeError, StorageFailed
from agentscope_reme.facade.lifetime import surroundings
from agentscope_reme.results import StatusResult
from agentscope_reme.settings import Settings
from agentscope_reme.workspace import Workspace

THRESHOLD_SHARE: Final = 0.9
"""How much of ``max_input_length * memory_compact_ratio`` a window may fill before compaction."""


class ReMeCopaw(SummaryCalls, WindowCalls):
    """The long-term memory of a CoPaw-style host, in files people can open.

    The same store, search, journal and files as `ReMe`; in addition ``MEMORY.md``, ``memory/`` and
    ``tool_result/``. `chat_model`, `formatter`, `token_counter`, `toolkit`, `max_input_length`,
    `memory_compact_threshold`, `language` and `summary_tasks` may be replaced at any time; the next
    call uses what stands there. Embeddings and the store are set by the environment variables
    `docs/copaw.md` names, read here and never written. An instance belongs to one event loop.

    Args:
        working_dir: the folder; created, with ``memory/`` and ``tool_result/`` in it.
        chat_model: an AgentScope 1.x chat model; ``None`` until the host sets one.
        formatter: the model's formatter; found by the model's class when missing.
        token_counter: counts the window; sizes are estimated without one.
        toolkit: the host's tools, which a summary run may call besides read, write and edit.
        max_input_length: the model's window in tokens.
        memory_compact_ratio: how full it may get, 0 to 1; nine tenths of that are the threshold.
        language: ``zh`` for Chinese; anything else is English, and reads ``""``.
        vector_weight: share of the vectors in a search, 0 to 1; the keywords get the rest.
        candidate_multiplier: candidates of each branch for every wanted result.
        tool_result_threshold: characters of one text of a tool result that stay in the window.
        retention_days: days an offloaded tool result is kept.
        settings: further limits and budgets.
        clock: the source of "now"; for tests.

    Raises:
        BadInput: an argument or an environment variable is not usable.
        StorageFailed: the folders cannot be made.
    """

    def __init__(
        self,
        working_dir: str | os.PathLike[str],
        chat_model: Any,
        formatter: Any,
        token_counter: Any,
        toolkit: Any,
        max_input_length: int,
        memory_compact_ratio: float,
        language: str = "zh",
        vector_weight: float = 0.7,
        candidate_multiplier: float = 3.0,
        tool_result_threshold: int = 1000,
        retention_days: int = 7,
        *,
        settings: Settings | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.environment = read_environment()
        self.chat_model = chat_model
        self.formatter = formatter
        self.token_counter = token_counter
        self.toolkit = toolkit
        self.update_params(max_input_length, memory_compact_ratio, language)
        self.vector_weight = _share(vector_weight, "vector_weight")
        self.candidate_multiplier = _positive(candidate_multiplier, "candidate_multiplier")
        self.tool_result_threshold = int(_positive(tool_result_threshold, "tool_result_threshold"))
        self.retention_days = _days(retention_days)
        workspace = Workspace(working_dir)
        self.working_path: Path = workspace.root
        self.memory_path: Path = workspace.root / "memory"
        self.tool_result_path: Path = workspace.root / "tool_result"
        model = CurrentModel(lambda: (self.chat_model, self.formatter))
        settings, clock = surroundings(self.prompt_language, None, settings, clock)
        if not self.environment.cache_enabled:
            settings = settings.model_copy(update={"embedding_cache_vectors": 0})
        store, self._backend = store_of(self.environment.backend, workspace, settings)
        memory = CopawCalls(
            Engine(
                workspace,
                settings=settings,
                clock=clock,
                language=self.prompt_language,
                chat=model,
                agent=model,
                embedding=embeddings_of(self.environment),
                store=store,
            )
        )
        super().__init__(memory, model)
        self._begun = False
        _make_folders(workspace, self.memory_path, self.tool_result_path)

    async def start(self) -> Self:
        """Open the memory, index what changed, drop expired tool results, go on with summaries.

        Calling it again does nothing; after `close` it opens the memory again.

        Raises:
            StorageFailed: the folder cannot be opened or written.
        """
        await self._memory.start()
        if not self._begun:
            self._begun = True
            await self._expire_tool_results()
            await self._queue.resume()
        return self

    async def close(self) -> bool:
        """Wait for summaries within `Settings.close_drain_seconds`, then close everything.

        What is not finished by then stays pending and is gone on with at the next start.

        Returns:
            Whether everything was finished and closed; also for a memory that is not open.
        """
        self._begun = False
        if not self._memory.is_open:
            await self._memory.close()  # somebody else may be closing it
            return True
        try:
            finished = await self._queue.drain(self.settings.close_drain_seconds)
            await self._queue.close()
            await self._expire_tool_results()
            await self._memory.close()
        except ReMeError as failure:
            self.report_failure("close", failure)
            return False
        return finished

    def update_params(
        self, max_input_length: int, memory_compact_ratio: float, language: str
    ) -> None:
        """Set the window, how full it may get, and the language of prompts.

        Raises:
            BadInput: a number is not above 0, or the ratio is above 1; nothing was changed.
        """
        window = int(_positive(max_input_length, "max_input_length"))
        ratio = _share(_positive(memory_compact_ratio, "memory_compact_ratio"), "ratio")
        self.max_input_length = window
        self.memory_compact_ratio = ratio
        self.memory_compact_threshold = int(window * ratio * THRESHOLD_SHARE)
        self.language = "zh" if language == "zh" else ""

    def get_emb_envs(self) -> EmbeddingEnvs:
        """The embedding variables as they were when this object was made.

        Returns:
            API key, base URL, model name, dimensions, cache enabled, cache size, longest input in
            characters, largest batch.
        """
        return self.environment.embedding

    async def status(self) -> StatusResult:
        """Counts, queues, the store in use, waiting summaries and every failure so far."""
        status = await self._memory.status()
        waiting, given_up = await self._queue.left()
        notices = [*status.notices, self._backend, *_about_summaries(waiting, given_up)]
        if self.environment.api_key and not self.environment.vectors:
            notices.append("EMBEDDING_MODEL_NAME is not set: there are no vectors.")
        told = "\n".join([status.answer, *notices[len(status.notices) :]])
        queued = status.queued_jobs + self._queue.queued
        return status.model_copy(update={"notices": notices, "answer": told, "queued_jobs": queued})


def _make_folders(workspace: Workspace, *folders: Path) -> None:
    workspace.create()
    try:
        for folder in folders:
            folder.mkdir(exist_ok=True)
    except OSError as error:
        raise StorageFailed(
            str(workspace.root), f"a folder cannot be made: {error}", "Choose another folder."
        ) from error


def _about_summaries(waiting: int, given_up: int) -> list[str]:
    told = [f"{waiting} conversation(s) wait to be summarised."] if waiting else []
    if given_up:
        told.append(f"{given_up} of them failed too often; see journal/summaries/.")
    return told


def _positive(value: Any, name: str) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
        return value
    raise BadInput(value, f"`{name}` must be a number above 0", "Pass such a number.")


def _days(value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise BadInput(value, "`retention_days` must be a number of days", "Pass 0 or more.")


def _share(value: Any, name: str) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1:
        return float(value)
    raise BadInput(value, f"`{name}` must be a number from 0 to 1", "Pass such a number.")
