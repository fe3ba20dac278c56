"""The local model, asked once: a benchmark that runs again finds its vectors on the disk."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from agentscope_reme import LocalEmbedding
from agentscope_reme.messages import DataBlock
from agentscope_reme.schema import text_hash
from agentscope_reme.store.vector_cache import VectorCache

PLACE: Final = Path(__file__).resolve().parents[1] / ".bench" / "embeddings.db"
_MOST: Final = 1_000_000


class KeptEmbedding:
    """An `EmbeddingPort` that also keeps the vectors of questions.

    Args:
        model: asked for what is not there yet.
        place: the file with what is.
    """

    def __init__(self, model: LocalEmbedding, place: Path = PLACE) -> None:
        place.parent.mkdir(parents=True, exist_ok=True)
        self._model = model
        self._kept = VectorCache(place, most=_MOST)

    @property
    def space_id(self) -> str:
        return self._model.space_id

    async def embed(self, inputs: Sequence[str | DataBlock]) -> list[list[float]]:
        texts = [str(item) for item in inputs]
        keys = [text_hash(text) for text in texts]
        known = dict(self._kept.get(self.space_id, keys))
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            made = await self._model.embed(list(missing.values()))
            self._kept.put(self.space_id, dict(zip(missing, made, strict=True)))
            known |= self._kept.get(self.space_id, list(missing))
        return [known[key].tolist() for key in keys]

    async def embed_query(self, text: str) -> list[float]:
        space, key = f"{self.space_id}/questions", text_hash(text)
        if not (known := self._kept.get(space, [key])):
            self._kept.put(space, {key: await self._model.embed_query(text)})
            known = self._kept.get(space, [key])
        vector: list[float] = known[key].tolist()
        return vector
