"""Every number a user may turn, in one frozen value."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from agentscope_reme.errors import BadInput

DOTTED_KEYS: Final[Mapping[str, str]] = {
    "components.agent_wrapper.default.context_config.max_image_num": "max_image_num",
}
"""Settings that configuration files know by a longer name."""


_TIME_OF_DAY: Final = r"^(?:[01]\d|2[0-3]):[0-5]\d$"


class Settings(BaseModel):
    """Limits, budgets and defaults of one workspace. Unknown names are refused.

    Each field says its unit; a changed value takes effect at the next start. The dotted names of
    `DOTTED_KEYS` are understood as well: see `from_dotted`.

    Raises:
        BadInput: a name is unknown, or its value does not fit.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    if not TYPE_CHECKING:  # type checkers know the fields better than a signature of our own

        def __init__(self, **values: Any) -> None:
            try:
                super().__init__(**values)
            except ValidationError as error:
                raise _refused(error) from error

    @model_validator(mode="before")
    @classmethod
    def _short_names(cls, values: Any) -> Any:
        if not isinstance(values, Mapping):
            return values
        return {DOTTED_KEYS.get(str(key), key): value for key, value in values.items()}

    @field_validator("forget_after_days")
    @classmethod
    def _at_least_a_day(cls, rule: dict[str, int]) -> dict[str, int]:
        if any(days < 1 for days in rule.values()):
            raise ValueError("days of retention must be at least 1")
        return rule

    @classmethod
    def from_dotted(cls, values: Mapping[str, Any]) -> Settings:
        """Settings out of dotted keys, as command lines and configuration files spell them.

        Args:
            values: names of fields or keys of `DOTTED_KEYS`; values may be text (``"20"``).

        Raises:
            BadInput: a name is unknown, given twice, or its value does not fit.
        """
        names = [DOTTED_KEYS.get(key, key) for key in values]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise BadInput(twice, "this setting is given twice", "Use one of its names.")
        return cls(**{str(key): value for key, value in values.items()})

    chunk_byte_size: int = Field(default=600, ge=100)
    """Largest chunk the store indexes, in UTF-8 bytes."""

    max_indexed_file_bytes: int = Field(default=20 * 1024 * 1024, ge=1024)
    """Larger files are kept but not searched; `doctor()` lists them."""

    index_helpers: int = Field(default=3, ge=0)
    """Processes that help to index 1,000 new files or more, at most one for each processor. Each
    takes about 100 MB while it lasts; with 0 none is started."""

    tool_answer_bytes: int = Field(default=32 * 1024, ge=1024)
    """Cap on every text handed to an agent, in UTF-8 bytes."""

    recall_deadline_ms: int = Field(default=500, ge=1)
    """How long a reply may wait for recall, in milliseconds; later it goes on without."""

    recall_budget_tokens: int = Field(default=1500, ge=50)
    """How much recalled text a prompt gets, in estimated tokens."""

    index_patience_seconds: float = Field(default=10.0, ge=0)
    """How long `start()`, or a search that found the index damaged, waits until the index is whole
    again, in seconds; later it goes on without, and `status()` says so."""

    close_drain_seconds: float = Field(default=10.0, ge=0)
    """How long `close()` waits for background work, in seconds."""

    lock_patience_seconds: float = Field(default=10.0, ge=0)
    """How long a change waits for a lock another process holds, in seconds; then it is refused."""

    record_patience_seconds: float = Field(default=2.0, ge=0)
    """The same for recording and archiving turns, which replies wait for; what could not be
    recorded is recorded with the next reply."""

    max_image_num: int = Field(default=5, ge=0)
    """Images one `auto_memory` call may have, and one background run is shown; with 0 none are."""

    record_images: bool = True
    """Hooks, middleware and `record` save the images of a conversation, and show them to a model
    that sees; without it they are only mentioned."""

    record_every_turns: int = Field(default=1, ge=1)
    """The hooks distil after every N-th recorded reply of a session."""

    auto_memory_prompt_tokens: int = Field(default=24_000, ge=1000)
    """Largest conversation part one distilling run is given, in estimated tokens."""

    dream_prompt_tokens: int = Field(default=24_000, ge=4000)
    """Largest prompt a dream sends, in estimated tokens: daily files beyond it wait for the next
    one, a node's evidence is cut with a word on how to read on."""

    agent_max_iters: int = Field(default=12, ge=1)
    """Model calls one background agent run may make."""

    job_model_calls: int = Field(default=120, ge=2)
    """Model calls one background job may make; what is left stays pending."""

    agent_deadline_seconds: float = Field(default=180.0, gt=0)
    """Wall-clock limit of one background agent run, in seconds."""

    memory_compact_threshold: int = Field(default=96_000, ge=1)
    """AgentScope 1.x: estimated tokens in the window above which it is compacted. On 2.x the
    agent's own ``ContextConfig`` decides."""

    redact: Literal["allow", "redact", "block"] = "redact"
    """What happens to secrets in what agents write: nothing, a mark in their place, or a refusal.
    Session logs keep what was said."""

    secret_patterns: dict[str, str] = Field(default_factory=dict)
    """Further patterns of secrets, by name, as regular expressions."""

    watch: bool = True
    """Watch the workspace for other people's edits."""

    watch_force_polling: bool = False
    """Poll instead of native file events, for network drives and bind mounts."""

    fusion: Literal["rrf", "score"] = "score"
    """How keyword and vector rankings are combined: by normalised scores, or by reciprocal rank."""

    vector_index: Literal["auto", "exact", "compressed"] = "auto"
    """How vectors are kept in memory and compared: ``exact``, every one in single precision;
    ``compressed``, in half precision behind a sketch of one bit per number, which misses less than
    one in a hundred of the best ten; ``auto`` is exact up to 128 million numbers (333,000 vectors
    of 384, 125,000 of 1,024) and compressed beyond. What is found is compared exactly by all."""

    embedding_deadline_ms: int = Field(default=3000, ge=1)
    """How long a search waits for the vector of its query, in milliseconds."""

    embedded_picture_bytes: int = Field(default=5 * 1024 * 1024, ge=1)
    """Larger pictures are not sent to an embedding model, and so not found by what they show."""

    embedding_cache_vectors: int = Field(default=200_000, ge=0)
    """How many vectors are kept under ``metadata/`` in case the index is lost or made anew: 150 MB
    of 384 numbers each, 400 MB of 1,024; the oldest go first, with 0 none are kept."""

    seen_ttl_hours: float = Field(default=24.0, gt=0)
    """How long one `tool_context_id` remembers what it was already shown, in hours."""

    journal_retention_days: int = Field(default=90, ge=1)
    """How long changes can be undone, in days."""

    dream_at: str | None = Field(default=None, pattern=_TIME_OF_DAY)
    """Dream once a day at this local time, ``HH:MM``, while the memory is open; a missed dream is
    caught up once. Off without it."""

    forget_after_days: dict[Literal["session", "daily", "resource"], int] = Field(
        default_factory=dict
    )
    """A rule of retention: by layer, after how many days raw material is forgotten, pinned files
    excepted. Off by default: nothing is removed by its age."""

    retention_at: str = Field(default="04:00", pattern=_TIME_OF_DAY)
    """When the rule of retention is applied once a day, local time; only when there is one."""

    fsync: bool = True
    """Flush to the device before acknowledging; only throw-away workspaces turn this off."""


def why_refused(error: ValidationError) -> str:
    """The first fault of a setting, in words: why its value does not fit."""
    fault = error.errors(include_url=False, include_input=False)[0]
    if fault["type"] == "string_pattern_mismatch":  # the only pattern is that of times of day
        return "no time of day, which is written HH:MM, such as 04:00"
    return fault["msg"]


def _refused(error: ValidationError) -> BadInput:
    """The first fault, in words: what was given, why it does not fit, what would."""
    fault = error.errors(include_url=False)[0]
    name = ".".join(map(str, fault["loc"]))
    if fault["type"] != "extra_forbidden":
        reason = f"the setting `{name}` does not fit: {why_refused(error)}"
        return BadInput(fault["input"], reason, f"See what `Settings.{fault['loc'][0]}` says.")
    close = get_close_matches(name, Settings.model_fields, 1)
    meant = f"Did you mean `{close[0]}`?" if close else "Use a field of `Settings`."
    return BadInput(name, "there is no such setting", meant)
