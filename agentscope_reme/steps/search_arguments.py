"""What a search is asked for, checked once."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from agentscope_reme.messages import DataBlock
from agentscope_reme.steps.fusion import VECTOR_WEIGHTS, Fusion
from agentscope_reme.store.records import SearchFilter

CANDIDATES_PER_HIT: Final = 5
MOST_CANDIDATES: Final = 200
PROMPT: Final = "recall"
"""Who is told when hits go into a prompt: prompts hear on their own that vectors are missing."""


class SearchArguments(BaseModel):
    """What a search reads from its run; see `ReMe.search`."""

    model_config = ConfigDict(frozen=True)

    query: str
    image: DataBlock | None = None
    """A picture to search by, beside the words or instead of them."""
    pictures: bool = True
    """Pictures may be among the hits."""
    limit: int = Field(default=5, ge=1, le=MOST_CANDIDATES)
    min_score: float = Field(default=0.0, allow_inf_nan=False)
    start_date: date | None = None
    end_date: date | None = None
    path_prefix: str | None = None
    layers: tuple[str, ...] | None = None
    tags: tuple[str, ...] = ()
    filters: Mapping[str, Any] = Field(default_factory=dict)
    fusion: Fusion | None = None
    vector_weight: float | None = Field(default=None, ge=0, le=1)
    expand_links: bool = True
    max_links_per_direction: int = Field(default=10, ge=0)
    tool_context_id: str | None = None
    deadline_ms: int | None = Field(default=None, ge=1)
    """How long the vector of the query may take; turns recorded just now, half of it."""
    told: str = "search"
    """Who hears, once, that vectors are missing."""
    candidates_per_hit: float = Field(default=CANDIDATES_PER_HIT, gt=0)

    @field_validator("end_date")
    @classmethod
    def _not_before_the_start(cls, end: date | None, info: ValidationInfo) -> date | None:
        start = info.data.get("start_date")
        if end is not None and start is not None and end < start:
            raise PydanticCustomError("date_order", "this is before `start_date`")
        return end

    def with_fusion(self, default: Fusion) -> SearchArguments:
        """The same with a way of combining rankings: the default one, when none was asked for."""
        return self if self.fusion else self.model_copy(update={"fusion": default})

    @property
    def for_prompt(self) -> bool:
        """Whether the hits go into a prompt and nobody reads the answer."""
        return self.told == PROMPT

    @property
    def vector_share(self) -> float:
        """The share of the vector branch; by default it depends on the fusion."""
        if self.vector_weight is not None:
            return self.vector_weight
        return VECTOR_WEIGHTS[self.fusion or "rrf"]

    @property
    def where(self) -> SearchFilter:
        """The conditions every hit must meet."""
        return SearchFilter(
            path_prefix=self.path_prefix or None,
            layers=self.layers,
            start_date=self.start_date.isoformat() if self.start_date else None,
            end_date=self.end_date.isoformat() if self.end_date else None,
            tags=self.tags,
            fields=dict(self.filters),
        )

    @property
    def candidates(self) -> int:
        """How many hits each branch is asked for."""
        wanted = int(self.limit * self.candidates_per_hit)
        return min(MOST_CANDIDATES, max(1, wanted))
