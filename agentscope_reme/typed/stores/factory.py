"""A store by the name of its engine."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import Any, Final

from agentscope_reme.errors import BadInput
from agentscope_reme.typed.stores.base import BaseVectorStore

BACKENDS: Final = ("local", "chroma", "qdrant", "elasticsearch")
_ALIASES: Final = {"es": "elasticsearch"}
_FOLDER: Final = "typed"


def make_store(backend: str, working_dir: str | Path, **options: Any) -> BaseVectorStore:
    """A store that is not open yet; its engine is imported now.

    Args:
        backend: one of `BACKENDS`, or ``es`` for ``elasticsearch``.
        working_dir: the folder of those that keep files; they take ``typed/`` in it.
        options: what the constructor of the store takes besides the folder.

    Raises:
        BadInput: there is no such engine or option, or its package is not installed.
    """
    name = _ALIASES.get(backend, backend)
    make = _maker(name)
    known = [option for option in signature(make).parameters if option != "folder"]
    for option in options:
        if option not in known:
            raise BadInput(option, f"{name} has no such option", f"There are: {', '.join(known)}.")
    return make(Path(working_dir) / _FOLDER, **options)


def _maker(name: str) -> Callable[..., BaseVectorStore]:
    try:
        match name:
            case "local":
                from agentscope_reme.typed.stores.local import LocalVectorStore

                return LocalVectorStore
            case "chroma":
                from agentscope_reme.typed.stores.chroma import ChromaVectorStore

                return ChromaVectorStore
            case "qdrant":
                from agentscope_reme.typed.stores.qdrant import QdrantVectorStore

                return QdrantVectorStore
            case "elasticsearch":
                from agentscope_reme.typed.stores.elasticsearch import ElasticsearchVectorStore

                return ElasticsearchVectorStore
    except ImportError as error:
        raise BadInput(
            name,
            f"its package is not installed: {error}",
            f"Install it with `pip install 'agentscope-reme[{name}]'`.",
        ) from error
    raise BadInput(
        name, "there is no such store", f"Use one of {', '.join((*BACKENDS, *_ALIASES))}."
    )
