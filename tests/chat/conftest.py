"""An assistant over the loopback provider, in this process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest_asyncio

from tests.chat.talk import Talk
from tests.loopback import LoopbackProvider
from tests.loopback.fixtures import provider

__all__ = ["begin", "provider", "talk"]

Begin = Callable[..., Awaitable[Talk]]


@pytest_asyncio.fixture
async def begin(provider: LoopbackProvider, tmp_path: Path) -> AsyncIterator[Begin]:
    """Opens assistants; whatever is still open is closed at the end."""
    opened: list[Talk] = []

    async def open_talk(folder: Path = tmp_path, **words: object) -> Talk:
        talk = await Talk.begin(provider, folder, **words)
        opened.append(talk)
        return talk

    yield open_talk
    for talk in opened:
        await talk.close()


@pytest_asyncio.fixture
async def talk(begin: Begin) -> Talk:
    """An open assistant."""
    return await begin()
