"""Where a CoPaw memory keeps its vectors: beside the rest of the index, or in Chroma."""

from __future__ import annotations

import sys
from importlib.util import find_spec

from agentscope_reme.copaw.environment import Backend
from agentscope_reme.settings import Settings
from agentscope_reme.store.base import BaseFileStore
from agentscope_reme.store.local_store import LocalFileStore
from agentscope_reme.workspace import Workspace


def store_of(
    backend: Backend, workspace: Workspace, settings: Settings
) -> tuple[BaseFileStore, str]:
    """The store of a ``MEMORY_STORE_BACKEND``, and a sentence that says which it is.

    Raises:
        BadInput: Chroma is asked for by name and is not installed.
    """
    if backend == "chroma" or (backend == "auto" and chroma_is_usable()):
        from agentscope_reme.store.chroma_store import ChromaFileStore

        return ChromaFileStore(workspace, settings=settings), f"Store: chroma ({backend})."
    return LocalFileStore(workspace, settings=settings), f"Store: local ({backend})."


def chroma_is_usable() -> bool:
    """Whether ``auto`` means Chroma here: it is installed, and this is not Windows."""
    return sys.platform != "win32" and find_spec("chromadb") is not None
