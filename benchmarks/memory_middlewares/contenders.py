"""The middlewares that are compared, each opened, primed with one fact and closed its own way."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from agentscope.credential import OpenAICredential
from agentscope.embedding import OpenAIEmbeddingModel
from agentscope.model import ChatModelBase, OpenAIChatModel

MEMORY_MODEL: Final = "memory"
"""The name of the model that distils and selects, so that its requests can be told apart."""

WIDTH: Final = 64

FACT: Final = "The zebra vault opens at nine in the morning."

_CARD: Final = f"---\nname: zebra-vault\ndescription: When the zebra vault opens.\n---\n{FACT}\n"


@dataclass(frozen=True)
class Provider:
    """Where the models are."""

    url: str

    def chat(self, name: str) -> ChatModelBase:
        return OpenAIChatModel(
            OpenAICredential(api_key="k", base_url=self.url),
            name,
            stream=False,
            max_retries=0,
            context_size=128_000,
        )

    def embedding(self) -> OpenAIEmbeddingModel:
        return OpenAIEmbeddingModel(
            OpenAICredential(api_key="k", base_url=self.url), "e", WIDTH, max_retries=0
        )


class Contender:
    """One middleware in one folder; without a middleware it is the agent alone."""

    name = "none"

    def __init__(self, folder: Path, provider: Provider) -> None:
        self.folder = folder
        self.provider = provider
        self.middleware: Any = None

    async def open(self, *, primed: bool = True) -> None:
        """Start it, with `FACT` already known when `primed`."""

    async def tools(self) -> Sequence[Any]:
        """What has to be put into the toolkit by hand."""
        return () if self.middleware is None else await self.middleware.list_tools()

    async def settle(self) -> None:
        """Wait for the work in the background."""

    async def close(self) -> None:
        """Let go of everything."""

    def kept(self) -> bytes:
        """All bytes it keeps on disk."""
        files = (place for place in sorted(self.folder.rglob("*")) if place.is_file())
        return b"\n".join(place.read_bytes() for place in files)


class Ours(Contender):
    name = "ReMeMemoryMiddleware (ours)"

    async def open(self, *, primed: bool = True) -> None:
        from agentscope_reme import ReMe

        self.reme = ReMe(self.folder, chat_model=self.provider.chat(MEMORY_MODEL))
        await self.reme.start()
        if primed:
            await self.reme.write("daily/2026-11-28/zebra-vault.md", _CARD)
        self.middleware = self.reme.middleware()

    async def tools(self) -> Sequence[Any]:
        return ()  # it registers its tools by itself

    async def settle(self) -> None:
        await self.reme.drain()

    async def close(self) -> None:
        await self.reme.close()


class ShippedReMe(Contender):
    name = "ReMeMiddleware"

    async def open(self, *, primed: bool = True) -> None:
        from agentscope.middleware import ReMeMiddleware

        if primed:
            _write(self.folder / "daily" / "2026-11-28" / "zebra-vault.md")
        self.middleware = ReMeMiddleware(
            workspace_dir=str(self.folder),
            parameters=ReMeMiddleware.Parameters(chat_model=self.provider.chat(MEMORY_MODEL)),
        )
        await self.middleware._ensure_started()  # no first reply pays for the start
        # It indexes some time after it started, and has no event to wait for.
        while primed and not await self.middleware._search(FACT):  # noqa: ASYNC110
            await asyncio.sleep(0.1)

    async def close(self) -> None:
        await self.middleware.close()


class ShippedAgentic(Contender):
    name = "AgenticMemoryMiddleware"

    async def open(self, *, primed: bool = True) -> None:
        from agentscope.middleware import AgenticMemoryMiddleware

        if primed:
            _write(self.folder / "Memory" / "zebra-vault.md")
            (self.folder / "Memory" / "MEMORY.md").write_text(
                "- [Zebra vault](zebra-vault.md) — when it opens\n", encoding="utf-8"
            )
        self.middleware = AgenticMemoryMiddleware(
            workdir=str(self.folder),
            parameters=AgenticMemoryMiddleware.Parameters(
                retrieval_model=self.provider.chat(MEMORY_MODEL)
            ),
        )

    async def tools(self) -> Sequence[Any]:
        from agentscope.tool import Edit, Read, Write

        return [Read(), Write(), Edit()]  # its instructions tell the agent to use these


class ShippedMem0(Contender):
    name = "Mem0Middleware"

    async def open(self, *, primed: bool = True) -> None:
        from agentscope.middleware import Mem0Middleware
        from mem0.configs.base import MemoryConfig

        self.folder.mkdir(parents=True, exist_ok=True)
        store = {
            "provider": "qdrant",
            "config": {
                "path": str(self.folder / "qdrant"),
                "collection_name": "memories",
                "embedding_model_dims": WIDTH,
                "on_disk": True,
            },
        }
        config = MemoryConfig(vector_store=store, history_db_path=str(self.folder / "history.db"))
        self.middleware = Mem0Middleware(
            user_id="ann",
            chat_model=self.provider.chat(MEMORY_MODEL),
            embedding_model=self.provider.embedding(),
            mem0_config=config,
        )
        if primed:
            client = self.middleware._client
            await client.add([{"role": "user", "content": FACT}], user_id="ann", infer=False)


CONTENDERS: Final = (Ours, ShippedReMe, ShippedAgentic, ShippedMem0)


def _write(place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(_CARD, encoding="utf-8")
