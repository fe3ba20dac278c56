"""`VectorReMe`: typed memories of people, tasks and tools over a vector store."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Literal

from agentscope_reme.clock import Clock
from agentscope_reme.errors import BadInput
from agentscope_reme.facade.lifetime import surroundings
from agentscope_reme.facade.models import chat_port_of, embedding_port_of, refuse_formatter
from agentscope_reme.facade.typed_exchange import TypedExchangeCalls
from agentscope_reme.facade.typed_models import (
    chat_model_given,
    embedding_model_given,
    name_of,
    store_given,
)
from agentscope_reme.runtime.failures import FailureLog
from agentscope_reme.settings import Settings
from agentscope_reme.tools.redaction import Redactor
from agentscope_reme.typed.core import TypedMemory
from agentscope_reme.typed.index import NodeIndex
from agentscope_reme.typed.parts import Parts
from agentscope_reme.typed.profile import CAPACITY
from agentscope_reme.typed.targets import Names, all_targets


class VectorReMe(TypedExchangeCalls):
    """Memories of people (``user_name``), tasks (``task_name``) and tools (``tool_name``).

    Use it as an async context manager, or call `start` and `close`; the first call starts it by
    itself. An instance belongs to one event loop. A memory belongs to exactly one target; a user
    and a task of the same name share nothing.

    Models may be AgentScope models, or described by configurations as
    ``{"backend": "openai", "model_name": "..."}``, completed by ``REME_LLM_*`` and
    ``REME_EMBEDDING_*`` of the environment. One with neither a key nor a ``base_url`` is not asked,
    and a warning says so. Without a chat model conversations are kept and wait; without an
    embedding model memories are found by their words.

    Args:
        working_dir: the folder of the local store; created when missing.
        default_llm_config: the chat model; see `ChatModelConfig`.
        default_embedding_model_config: the embedding model; see `EmbeddingModelConfig`.
        default_vector_store_config: ``backend`` (``local``, ``chroma``, ``qdrant``,
            ``elasticsearch`` or ``es``) and what the store of that name takes.
        llm_api_key: the key of the chat model.
        llm_base_url: its address.
        embedding_api_key: the key of the embedding model.
        embedding_base_url: its address.
        target_user_names: whom `summarize_memory` and `retrieve_memory` mean when nobody is named.
        target_task_names: the same for tasks.
        target_tool_names: the same for tools.
        enable_profile: keep a profile of each user beside the memories.
        profile_max_capacity: lines of a profile; those changed longest ago go first.
        chat_model: an AgentScope chat model, instead of a configuration.
        formatter: its formatter, AgentScope 1.x.
        embedding_model: an AgentScope embedding model, instead of a configuration.
        language: ``en`` or ``zh``, for prompts.
        timezone: an IANA name; the machine's zone without it.
        settings: limits and budgets.
        clock: the source of "now"; for tests.

    Raises:
        BadInput: an argument is not usable.
    """

    def __init__(
        self,
        working_dir: str | os.PathLike[str] = ".reme",
        *,
        default_llm_config: Mapping[str, Any] | None = None,
        default_embedding_model_config: Mapping[str, Any] | None = None,
        default_vector_store_config: Mapping[str, Any] | None = None,
        llm_api_key: str = "",
        llm_base_url: str = "",
        embedding_api_key: str = "",
        embedding_base_url: str = "",
        target_user_names: Names = (),
        target_task_names: Names = (),
        target_tool_names: Names = (),
        enable_profile: bool = True,
        profile_max_capacity: int = CAPACITY,
        chat_model: Any = None,
        formatter: Any = None,
        embedding_model: Any = None,
        language: Literal["en", "zh"] = "en",
        timezone: str | None = None,
        settings: Settings | None = None,
        clock: Clock | None = None,
    ) -> None:
        settings, clock = surroundings(language, timezone, settings, clock)
        if not isinstance(profile_max_capacity, int) or profile_max_capacity < 1:
            raise BadInput(
                profile_max_capacity, "`profile_max_capacity` is no number above 0", "Pass 50."
            )
        refuse_formatter(formatter)
        targets = all_targets(target_user_names, target_task_names, target_tool_names)
        chat, formatter = chat_model_given(
            chat_model, formatter, default_llm_config, llm_api_key, llm_base_url
        )
        embedding = embedding_model_given(
            embedding_model, default_embedding_model_config, embedding_api_key, embedding_base_url
        )
        failures = FailureLog()
        index = NodeIndex(
            store_given(working_dir, default_vector_store_config),
            embedding_port_of(embedding),
            clock=clock,
            settings=settings,
            on_failure=failures.report,
        )
        parts = Parts(
            index=index,
            chat=chat_port_of(chat, formatter),
            clock=clock,
            settings=settings,
            language=language,
            failures=failures,
            redactor=Redactor(settings.secret_patterns),
            author=name_of(chat),
        )
        memory = TypedMemory(
            parts, enable_profile=enable_profile, profile_capacity=profile_max_capacity
        )
        super().__init__(memory, targets)
