"""Which space the vectors of a model belong to: its name holds a width that has to be measured."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from agentscope_reme.errors import ModelFailed
from agentscope_reme.ports import EmbeddingPort
from agentscope_reme.store.vectors import Vector

_NORMALISED: Final = "unit"
"""Every store keeps vectors at length 1."""


class EmbeddedTexts(Protocol):
    """What needs vectors: the chunks of a `BaseFileStore`, or texts by another key."""

    def missing_vectors(self, space_id: str, limit: int) -> list[tuple[str, str]]:
        """Texts without a vector in this space, as ``(key, text)``."""

    def put_vectors(self, space_id: str, vectors: Mapping[str, Vector]) -> None:
        """Store vectors by key."""

    def vector_spaces(self) -> list[str]:
        """The names of the spaces with vectors."""

    def kept_vectors(self, space_id: str, text_hashes: Sequence[str]) -> Mapping[str, Vector]:
        """Vectors that were paid for before, by key."""

    def vector_counts(self, space_id: str) -> tuple[int, int]:
        """How many texts have a vector in a space, and how many have none."""


class VectorSpace:
    """The space of one model, named by the model's own name for it, the width, and the length.

    Args:
        model: the model.
        store: may know the width from an earlier run.
    """

    def __init__(self, model: EmbeddingPort, store: EmbeddedTexts) -> None:
        self._model: Final = model
        self._store: Final = store
        self._width: int | None = None

    def known(self) -> str:
        """The space as measured, in this run or an earlier one; its bare name before that.

        Reads the store.
        """
        if self.measured is not None:
            return self.measured
        ours = self._named(None)
        measured = re.compile(rf"{re.escape(ours)}\d+/{_NORMALISED}")
        return next(filter(measured.fullmatch, self._store.vector_spaces()), ours)

    def of(self, vector: Sequence[float]) -> str:
        """The space a vector of this model belongs to."""
        return self._named(len(vector))

    @property
    def measured(self) -> str | None:
        """The space of the vectors of this run; ``None`` before the first."""
        return None if self._width is None else self._named(self._width)

    def is_new(self, vector: Sequence[float]) -> bool:
        """Whether a vector has another width than was known; this width holds from now on."""
        before, self._width = self._width, len(vector)
        return before != self._width

    def settle(self, vector: Sequence[float], expected: str | None) -> str:
        """The space of a vector, which holds from now on.

        Args:
            vector: as the model made it.
            expected: the space it has to belong to, when that is known.

        Raises:
            ModelFailed: it belongs to another one.
        """
        measured = self.of(vector)
        if expected not in (None, measured):
            raise ModelFailed(
                measured,
                f"the width of the vectors changes from call to call; before it was {expected}",
                "Use a model, or `dimensions`, with one width.",
            )
        self._width = len(vector)
        return measured

    def _named(self, width: int | None) -> str:
        measured = "" if width is None else f"{width}/{_NORMALISED}"
        return f"{self._model.space_id}/{measured}"
