"""The embedding model a CoPaw host names in its environment, within the documented limits."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from agentscope.embedding import OpenAITextEmbedding

from agentscope_reme.agentscope_v1 import embedding_port
from agentscope_reme.copaw.environment import CopawEnvironment
from agentscope_reme.messages import DataBlock
from agentscope_reme.ports import EmbeddingPort

_NO_KEY = "none"  # local services ask for no key, their client insists on one


class LimitedEmbeddings:
    """An `EmbeddingPort` that cuts long texts, asks in small batches and remembers answers.

    Vectors of chunks are kept by the store anyway; what is remembered here saves asking for the
    same query twice. Safe only within one event loop.

    Args:
        port: the model.
        batch: the most texts of one call.
        longest: the most characters of one text.
        remembered: how many texts to remember with their vectors, the newest; 0 for none.
    """

    def __init__(self, port: EmbeddingPort, *, batch: int, longest: int, remembered: int) -> None:
        self._port = port
        self._batch = batch
        self._longest = longest
        self._remembered = remembered
        self._known: OrderedDict[str, list[float]] = OrderedDict()

    @property
    def space_id(self) -> str:
        """The space of the model behind it."""
        return self._port.space_id

    async def embed(self, inputs: Sequence[str | DataBlock]) -> list[list[float]]:
        """One vector per input, in order.

        Raises:
            ModelFailed: the provider failed; what it answered before is remembered.
        """
        given = [item[: self._longest] if isinstance(item, str) else item for item in inputs]
        texts = [item for item in given if isinstance(item, str)]
        fresh = {text: self._known[text] for text in texts if text in self._known}
        await self._ask([text for text in dict.fromkeys(texts) if text not in fresh], fresh)
        self._remember(fresh)
        return [
            fresh[item] if isinstance(item, str) else (await self._port.embed([item]))[0]
            for item in given
        ]

    async def _ask(self, texts: Sequence[str], found: dict[str, list[float]]) -> None:
        for start in range(0, len(texts), self._batch):
            part = texts[start : start + self._batch]
            answer = dict(zip(part, await self._port.embed(part), strict=True))
            self._remember(answer)
            found.update(answer)

    def _remember(self, vectors: dict[str, list[float]]) -> None:
        for text, vector in vectors.items():
            self._known[text] = vector
            self._known.move_to_end(text)
        while len(self._known) > self._remembered:
            self._known.popitem(last=False)


def embeddings_of(environment: CopawEnvironment) -> EmbeddingPort | None:
    """The named model, or ``None`` when there is none."""
    if not environment.vectors:
        return None
    model = OpenAITextEmbedding(
        api_key=environment.api_key or _NO_KEY,
        model_name=environment.model_name,
        dimensions=environment.dimensions,
        base_url=environment.base_url,
    )
    return LimitedEmbeddings(
        embedding_port(model),
        batch=environment.max_batch_size,
        longest=environment.max_input_length,
        remembered=environment.max_cache_size if environment.cache_enabled else 0,
    )
