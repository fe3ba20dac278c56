"""Long-term memory for AgentScope agents, in files their owners can open.

Names are imported when they are first used, so ``import agentscope_reme`` is quick and needs no
AgentScope. Names of the other AgentScope line raise an `ImportError` that says what to use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    ReMeFormatter: Any  # a class of one line or the other: no type checker can know which

    from agentscope_reme.agentscope_v1 import ReMeLongTermMemory, ReMeMemory, ReMeToolkit
    from agentscope_reme.agentscope_v2 import ReMeMemoryMiddleware, ReMeOffloader
    from agentscope_reme.chunking import (
        DefaultFileChunker,
        JsonFileChunker,
        JsonlFileChunker,
        MarkdownFileChunker,
    )
    from agentscope_reme.clock import Clock
    from agentscope_reme.copaw import CoPawInMemoryMemory, ReMeCopaw
    from agentscope_reme.errors import Conflict, ModelRequired, ReMeError
    from agentscope_reme.local_embedding import LocalEmbedding
    from agentscope_reme.messages import Message
    from agentscope_reme.reme import ReMe
    from agentscope_reme.schema import FileChunk, FileLink, FileNode, SearchHit
    from agentscope_reme.settings import Settings
    from agentscope_reme.steps import ApplicationContext, BaseStep, Ref, RuntimeContext
    from agentscope_reme.store import (
        BaseFileStore,
        BM25Index,
        FileCatalog,
        FileGraph,
        LocalFileStore,
    )
    from agentscope_reme.typed.nodes import MemoryNode
    from agentscope_reme.vector_reme import VectorReMe

__all__ = [
    "ApplicationContext",
    "BM25Index",
    "BaseFileStore",
    "BaseStep",
    "Clock",
    "CoPawInMemoryMemory",
    "Conflict",
    "DefaultFileChunker",
    "FileCatalog",
    "FileChunk",
    "FileGraph",
    "FileLink",
    "FileNode",
    "JsonFileChunker",
    "JsonlFileChunker",
    "LocalEmbedding",
    "LocalFileStore",
    "MarkdownFileChunker",
    "MemoryNode",
    "Message",
    "ModelRequired",
    "ReMe",
    "ReMeCopaw",
    "ReMeError",
    "ReMeFormatter",
    "ReMeLongTermMemory",
    "ReMeMemory",
    "ReMeMemoryMiddleware",
    "ReMeOffloader",
    "ReMeToolkit",
    "Ref",
    "RuntimeContext",
    "SearchHit",
    "Settings",
    "VectorReMe",
]

_MODULES = {
    "chunking": "DefaultFileChunker JsonFileChunker JsonlFileChunker MarkdownFileChunker",
    "clock": "Clock",
    "errors": "Conflict ModelRequired ReMeError",
    "local_embedding": "LocalEmbedding",
    "messages": "Message",
    "reme": "ReMe",
    "schema": "FileChunk FileLink FileNode SearchHit",
    "settings": "Settings",
    "steps": "ApplicationContext BaseStep Ref RuntimeContext",
    "store": "BM25Index BaseFileStore FileCatalog FileGraph LocalFileStore",
    "typed.nodes": "MemoryNode",
    "vector_reme": "VectorReMe",
    "agentscope_v1": "ReMeLongTermMemory ReMeMemory ReMeToolkit",
    "agentscope_v2": "ReMeMemoryMiddleware ReMeOffloader",
    "copaw": "CoPawInMemoryMemory ReMeCopaw",
    "agentscope_line": "ReMeFormatter",  # in the room of whichever line is installed
}
_HOME = {name: module for module, names in _MODULES.items() for name in names.split()}
_LINES = {
    "agentscope_v1": (1, "ReMeMemoryMiddleware"),
    "agentscope_v2": (2, "ReMeMemory"),
    "copaw": (1, "ReMeMemoryMiddleware"),
}


_OF_BOTH_LINES = tuple(__all__)
if not TYPE_CHECKING:  # a star import takes the names of the installed line only
    del __all__  # made by `__getattr__` when it is asked for: looking for the line takes time


def _of_the_installed_line() -> list[str]:
    from agentscope_reme.agentscope_line import installed_line

    foreign = {1: {"agentscope_v2"}, 2: {"agentscope_v1", "copaw"}}.get(
        installed_line() or 0, {*_LINES, "agentscope_line"}
    )
    return [name for name in _OF_BOTH_LINES if _HOME[name] not in foreign]


def __getattr__(name: str) -> Any:
    if name == "__all__":
        globals()[name] = _of_the_installed_line()
        return globals()[name]
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if home in _LINES:
        from agentscope_reme.agentscope_line import require_line

        line, instead = _LINES[home]
        require_line(1 if line == 1 else 2, name, instead)
    if home == "agentscope_line":
        from agentscope_reme.agentscope_line import room_of

        home = room_of(name)
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_of_the_installed_line()})
