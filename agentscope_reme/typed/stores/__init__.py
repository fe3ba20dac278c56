"""Where memory nodes are kept: one contract, and a store for each engine behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentscope_reme.late_names import late_names

if TYPE_CHECKING:
    from agentscope_reme.typed.stores.base import BaseVectorStore
    from agentscope_reme.typed.stores.copying import copy_store, dump, load
    from agentscope_reme.typed.stores.factory import BACKENDS, make_store

__all__ = ["BACKENDS", "BaseVectorStore", "copy_store", "dump", "load", "make_store"]

# Late, so that importing typed memory loads neither numpy nor an engine.
__getattr__, __dir__ = late_names(
    __name__,
    {
        "base": "BaseVectorStore",
        "copying": "copy_store dump load",
        "factory": "BACKENDS make_store",
    },
)
