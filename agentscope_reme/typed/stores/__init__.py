"""Where memory nodes are kept: one contract, and a store for each engine behind it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from agentscope_reme.typed.stores.base import BaseVectorStore
    from agentscope_reme.typed.stores.copying import copy_store, dump, load
    from agentscope_reme.typed.stores.factory import BACKENDS, make_store

__all__ = ["BACKENDS", "BaseVectorStore", "copy_store", "dump", "load", "make_store"]

_HOMES: Final = {
    "BACKENDS": "factory",
    "BaseVectorStore": "base",
    "make_store": "factory",
}


def __getattr__(name: str) -> Any:
    # Late, so that importing typed memory loads neither numpy nor an engine.
    if name in __all__:
        module = import_module(f"{__name__}.{_HOMES.get(name, 'copying')}")
        return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
