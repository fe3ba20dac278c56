"""The installed AgentScope line, as the core sees it: three makers of ports."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

from agentscope_reme.agentscope_line import installed_line
from agentscope_reme.ports import AgentPort, ChatPort, EmbeddingPort

LINE = installed_line()

collect_ignore_glob = ["test_*.py"] if LINE is None else []


@pytest.fixture
def chat_port() -> Callable[..., ChatPort]:
    port: Callable[..., ChatPort] = _room().chat_port
    return port


@pytest.fixture
def agent_port() -> Callable[..., AgentPort]:
    port: Callable[..., AgentPort] = _room().agent_port
    return port


@pytest.fixture
def embedding_port() -> Callable[..., EmbeddingPort]:
    port: Callable[..., EmbeddingPort] = _room().embedding_port
    return port


@pytest.fixture
def broken_formatter() -> Any:
    """A formatter of the application's own that raises."""
    base: Any = import_module("agentscope.formatter").OpenAIChatFormatter

    class Broken(base):
        async def format(self, *_: Any, **__: Any) -> Any:
            raise LookupError("no such picture")

    return Broken()


@pytest.fixture
def embedding_model() -> Callable[[Callable[[list[Any]], Any]], Any]:
    """Makes an embedding model whose vectors come from a function of its inputs."""

    def make(answer: Callable[[list[Any]], Any]) -> Any:
        return _first(answer) if LINE == 1 else _second(answer)

    return make


def _room() -> Any:
    return import_module(f"agentscope_reme.agentscope_v{LINE}")


def _first(answer: Callable[[list[Any]], Any]) -> Any:
    scope: Any = import_module("agentscope.embedding")
    base: Any = scope.EmbeddingModelBase

    class Model(base):
        async def __call__(self, text: list[Any], **_: Any) -> Any:
            return scope.EmbeddingResponse(embeddings=answer(text))

    return Model("m", 2)


def _second(answer: Callable[[list[Any]], Any]) -> Any:
    scope: Any = import_module("agentscope.embedding")
    base: Any = scope.EmbeddingModelBase
    credential: Any = import_module("agentscope.credential").CredentialBase()

    class Model(base):
        async def _call_api(self, inputs: list[Any], **_: Any) -> Any:
            made = scope.EmbeddingResponse(embeddings=[])
            made.embeddings = answer(inputs)  # whatever it is: providers are not type checked
            return made

    return Model(credential, "m", 2, None, 100, 100, 0, 0.0)
