"""What models answer about memories, as closed types; one stray item never costs the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from agentscope_reme.messages import whole_characters
from agentscope_reme.ports import ClosedAnswer

M = TypeVar("M", bound=BaseModel)

LONGEST_CONTENT: Final = 2000
"""Characters of one memory a model writes."""
LONGEST_WHEN: Final = 400
_LONGEST_KEY: Final = 80
_LONGEST_VALUE: Final = 400
MOST_DRAFTS: Final = 30
"""Memories one reading of a conversation may bring."""
MOST_QUERIES: Final = 4
LONGEST_ANSWER: Final = 6000


def _cut(length: int) -> BeforeValidator:
    """Cuts what is too long and mends half characters: neither makes an answer a wrong one."""
    return BeforeValidator(
        lambda value: whole_characters(value)[:length] if isinstance(value, str) else value
    )


def _sifted(kind: type[M], most: int) -> BeforeValidator:
    """Keeps the items that fit."""

    def fitting(value: object) -> object:
        if not isinstance(value, list | tuple):
            return value
        return tuple(item for given in value[:most] if (item := _fits(kind, given)) is not None)

    return BeforeValidator(fitting)


def _fits(kind: type[M], given: object) -> M | None:
    if not isinstance(given, Mapping | BaseModel):
        return None
    try:
        return kind.model_validate(given)
    except ValidationError:
        return None


def _lowered(value: object) -> object:
    return value.strip().lower() if isinstance(value, str) else value


def _fitting_words(value: object) -> object:
    """The first few texts of a list, cut; what is no text is left out."""
    if not isinstance(value, list | tuple):
        return value
    texts = [whole_characters(item) for item in value if isinstance(item, str)]
    words = [text.strip()[:LONGEST_WHEN] for text in texts]
    return tuple(word for word in words if word)[:MOST_QUERIES]


Content = Annotated[str, _cut(LONGEST_CONTENT), Field(min_length=1, max_length=LONGEST_CONTENT)]
When = Annotated[str, _cut(LONGEST_WHEN), Field(max_length=LONGEST_WHEN)]
Score = Annotated[float, Field(ge=0.0, le=1.0)]


class Draft(ClosedAnswer):
    """Something worth remembering, as a first reading finds it."""

    content: Content = Field(description="What is known, understandable alone.")
    when_to_use: When = Field(default="", description="In which situation it helps.")
    turn: int = Field(default=0, description="The number of the turn it comes from.")
    score: Score = Field(default=0.5, description="How much it matters, 0 to 1.")


class Lesson(Draft):
    """How something is done, or not to be done."""

    when_to_use: Annotated[str, _cut(LONGEST_WHEN)] = Field(
        min_length=1, max_length=LONGEST_WHEN, description="In which situation it helps."
    )
    outcome: Annotated[Literal["success", "failure"], BeforeValidator(_lowered)] = Field(
        description="Whether it was learnt from a success or from a failure."
    )


class ProfileChange(ClosedAnswer):
    """One line of somebody's profile."""

    key: Annotated[str, _cut(_LONGEST_KEY)] = Field(
        min_length=1, max_length=_LONGEST_KEY, description="A short name of the attribute."
    )
    value: Annotated[str, _cut(_LONGEST_VALUE)] = Field(
        max_length=_LONGEST_VALUE, description="What holds now; empty when it no longer holds."
    )


class PersonalDrafts(ClosedAnswer):
    """What a conversation tells about a person."""

    memories: Annotated[tuple[Draft, ...], _sifted(Draft, MOST_DRAFTS)]
    profile: Annotated[tuple[ProfileChange, ...], _sifted(ProfileChange, MOST_DRAFTS)] = ()


class Lessons(ClosedAnswer):
    """What a conversation teaches about a task or a tool."""

    memories: Annotated[tuple[Lesson, ...], _sifted(Lesson, MOST_DRAFTS)]


class Decision(ClosedAnswer):
    """What becomes of one draft, seen beside what is known already."""

    draft: int = Field(description="The number of the draft.")
    action: Annotated[Literal["add", "update", "skip"], BeforeValidator(_lowered)] = Field(
        description="add: it is new. update: an old memory is outdated or completed. skip: known."
    )
    old: int | None = Field(default=None, description="The number of the old memory to update.")
    content: Annotated[str, _cut(LONGEST_CONTENT)] = Field(
        default="", description="The whole new text of the updated memory."
    )
    score: Score = Field(default=0.5, description="How sound and useful the draft is, 0 to 1.")


class Decisions(ClosedAnswer):
    """What becomes of the drafts."""

    decisions: Annotated[tuple[Decision, ...], _sifted(Decision, MOST_DRAFTS)]


class Searches(ClosedAnswer):
    """A question, as searches."""

    queries: Annotated[tuple[str, ...], BeforeValidator(_fitting_words)] = Field(
        description="Other words for the question, and parts of it, each a search of its own."
    )


class Answer(ClosedAnswer):
    """An answer out of memories alone."""

    answer: Annotated[str, _cut(LONGEST_ANSWER)] = Field(
        description="The answer; empty when the memories do not tell."
    )
    sources: tuple[int, ...] = Field(default=(), description="Numbers of the memories it rests on.")
    read: tuple[int, ...] = Field(
        default=(), description="Numbers of memories whose conversation must be read first."
    )
