"""Lets an engine load its vector index before the first search has to wait for it."""

from __future__ import annotations

import logging
import threading
from typing import Final

import numpy as np

from agentscope_reme.errors import ReMeError
from agentscope_reme.store.scaleout.engine import Engine

_log: Final = logging.getLogger(__name__)


class WarmUp:
    """One approximate query in a thread; until it answered, searches compare all vectors.

    After a restart of the engine the first such query takes seconds: 6 to 10 in seekdb with 20,000
    vectors.

    Args:
        engine: the engine.
        workspace: whose vectors.
    """

    def __init__(self, engine: Engine, workspace: str) -> None:
        self._engine: Final = engine
        self._workspace: Final = workspace
        self._thread: threading.Thread | None = None
        self._done = threading.Event()

    @property
    def is_done(self) -> bool:
        """Whether the index is in memory, as far as known."""
        return self._done.is_set()

    def start(self, from_chunks: int) -> None:
        """Begin, if the workspace has more chunks than this."""
        self._done.clear()
        self._thread = threading.Thread(target=self._run, args=(from_chunks,), name="warm-up")
        self._thread.start()

    def stop(self) -> None:
        """Wait until it is over."""
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join()

    def _run(self, from_chunks: int) -> None:
        try:
            if self._engine.head(self._workspace).answers > from_chunks:
                for space in self._engine.spaces(self._workspace)[:1]:
                    vector = np.full(space.width, space.width**-0.5, np.float32)
                    self._engine.nearest(self._workspace, space, vector, 1, exact=False)
        except ReMeError as error:  # the engine is tried again by whoever searches
            _log.warning("the vector index could not be warmed up: %s", error)
            return
        self._done.set()
