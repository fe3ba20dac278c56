"""What models answer in a dream, as closed types, and how a stray answer is kept from them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, Field, ValidationError, model_validator
from pydantic.json_schema import SkipJsonSchema

from agentscope_reme.files.dream_progress import WaitingUnit
from agentscope_reme.ports import ClosedAnswer
from agentscope_reme.tools.answer_limit import one_line

_LONGEST_FAULT: Final = 200
_LONGEST_NAME: Final = 120
_LONGEST_SUMMARY: Final = 2000
_LONGEST_WORDS: Final = 400
_MOST_ITEMS: Final = 8


def _spelled(change: Callable[[str], str]) -> BeforeValidator:
    """Reads a text in another spelling of the same value; other kinds are left to the type."""
    return BeforeValidator(lambda value: change(value) if isinstance(value, str) else value)


def _at_most(length: int) -> BeforeValidator:
    """Cuts what is too long: a wordy answer is no wrong one."""
    return BeforeValidator(
        lambda value: value[:length] if isinstance(value, str | list | tuple) else value
    )


Bucket = Annotated[
    Literal["personal", "procedure", "wiki"], _spelled(lambda text: text.strip().lower())
]
Action = Annotated[
    Literal["CREATE", "CORROBORATE", "REFINE", "CORRECT"],
    _spelled(lambda text: text.strip().upper()),
]
Name = Annotated[str, _at_most(_LONGEST_NAME), Field(min_length=1, max_length=_LONGEST_NAME)]
Words = Annotated[str, _at_most(_LONGEST_WORDS), Field(max_length=_LONGEST_WORDS)]
Items = Annotated[tuple[str, ...], _at_most(_MOST_ITEMS), Field(max_length=_MOST_ITEMS)]


class ProposedUnit(ClosedAnswer):
    """One thing worth knowing in the long run."""

    name: Name = Field(description="A short topic.")
    summary: Annotated[str, _at_most(_LONGEST_SUMMARY)] = Field(
        min_length=1, max_length=_LONGEST_SUMMARY, description="What the notes say of it."
    )
    bucket: Bucket = Field(
        description="personal: about the person. procedure: how to do something. wiki: knowledge."
    )
    paths: tuple[str, ...] = Field(min_length=1, description="The notes it comes from.")


class TopicCandidate(ClosedAnswer):
    """Something the person may want to come back to."""

    title: Name
    reason: Words = Field(default="", description="Why it may interest them.")
    evidence: Words = Field(default="", description="What was said, briefly.")
    keywords: Items = ()
    paths: Items = Field(default=(), description="The notes.")


class Extraction(ClosedAnswer):
    """What one reading of daily notes brings."""

    units: tuple[ProposedUnit, ...]
    topics: tuple[TopicCandidate, ...] = ()
    # A malformed unit costs itself, not the others: it is told here, and never asked for.
    refused: SkipJsonSchema[tuple[str, ...]] = ()

    @model_validator(mode="before")
    @classmethod
    def _sift(cls, value: Any) -> Any:
        if not isinstance(value, Mapping) or not isinstance(value.get("units"), list | tuple):
            return value
        units, bad_units = _sifted(ProposedUnit, value["units"])
        kept, _ = _sifted(TopicCandidate, _listed(value.get("topics")))
        told = map(str, _listed(value.get("refused")))  # when it is validated a second time
        return {**value, "units": units, "topics": kept, "refused": [*told, *bad_units]}


class Receipt(ClosedAnswer):
    """How an agent says it integrated a unit."""

    action: Action
    target_path: str = Field(min_length=1, max_length=400, description="The one node you changed.")
    note: Words = Field(default="", description="One sentence on what you did.")


def unit_of(proposed: ProposedUnit, paths: tuple[str, ...], hashes: tuple[str, ...]) -> WaitingUnit:
    """A unit that waits to be integrated; the same reading gives it the same id.

    Args:
        proposed: as the model named it.
        paths: the notes it comes from, known ones only.
        hashes: what those notes said.
    """
    told = "\0".join((proposed.name, proposed.bucket, proposed.summary, *paths, *hashes))
    digest = hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return WaitingUnit(digest, proposed.name, proposed.summary, proposed.bucket, paths)


def _listed(value: object) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else []


def _sifted(kind: type[BaseModel], items: Sequence[Any]) -> tuple[list[Any], list[str]]:
    kept: list[Any] = []
    refused: list[str] = []
    for item in items:
        try:
            kept.append(kind.model_validate(item))
        except ValidationError as error:
            fault = error.errors(include_url=False)[0]
            where = ".".join(map(str, fault["loc"])) or "unit"
            refused.append(f"{where}: {fault['msg']} in {one_line(item, _LONGEST_FAULT)}")
    return kept, refused
