"""An object AgentScope 1.x takes for an async function."""

from __future__ import annotations

from types import CodeType


class Hook:
    """The base of hook objects, whose ``__call__`` is async.

    AgentScope decides by `inspect.iscoroutinefunction` whether to await a hook, which sees
    functions and whatever has a function's attributes, but not an ordinary callable object. With
    the attributes below an instance can be registered as it is; without them the reply would fail.
    """

    __code__: CodeType
    __defaults__: tuple[object, ...] | None = None
    __kwdefaults__: dict[str, object] | None = None

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.__code__ = cls.__call__.__code__

    def __init__(self) -> None:
        self.__name__ = type(self).__name__
