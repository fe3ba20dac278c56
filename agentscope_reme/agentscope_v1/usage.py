"""Learning from what a provider reports how far estimates are off, for each model.

AgentScope 1.x hands the usage of an answer to nobody but the caller of the model, which is the
agent. So the model itself is watched: it gets a subclass of its own class whose only addition is to
look at prompts and answers that pass. It stays the same object, of the same type for `isinstance`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, Final
from weakref import WeakKeyDictionary

from agentscope.model import ChatModelBase, ChatResponse

from agentscope_reme.agentscope_v1.models import usage_of
from agentscope_reme.context.calibration import Calibration

_calibrations: Final[WeakKeyDictionary[Any, Calibration]] = WeakKeyDictionary()
_watching: Final[dict[type, type]] = {}
_expected: Final[ContextVar[tuple[Any, int] | None]] = ContextVar("expected", default=None)


def calibration_of(model: Any) -> Calibration:
    """The correction of a model, which learns from every answer to an announced prompt.

    Args:
        model: a chat model; anything else gets a correction that never learns.
    """
    known = _known(model)
    if known is None:
        known = Calibration()
        if isinstance(model, ChatModelBase) and _watch(model):
            _calibrations[model] = known
    return known


def expect(model: Any, estimated: int) -> None:
    """Announce the estimate of the prompt this task will send to a model next.

    Args:
        model: which model.
        estimated: the uncorrected estimate of the whole prompt, in tokens.
    """
    _expected.set((model, estimated))


def _known(model: Any) -> Calibration | None:
    try:
        return _calibrations.get(model)
    except TypeError:  # not hashable, or takes no weak references
        return None


def _watch(model: ChatModelBase) -> bool:
    cls = type(model)
    try:
        hash(model)
        if cls not in _watching:
            _watching[cls] = _watched(cls)
        model.__class__ = _watching[cls]
    except TypeError:  # a class with another layout: it is left alone, and nothing is learnt
        return False
    return True


def _watched(cls: Any) -> type:
    async def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        estimated = _take(self)
        answer = await cls.__call__(self, *args, **kwargs)
        if estimated is None:
            return answer
        if isinstance(answer, AsyncGenerator):
            return _observed(self, answer, estimated)
        _learn(self, answer, estimated)
        return answer

    names = {"__call__": call, "__module__": cls.__module__, "__qualname__": cls.__qualname__}
    return type(cls.__name__, (cls,), names)


async def _observed(
    model: Any, chunks: AsyncGenerator[ChatResponse, None], estimated: int
) -> AsyncGenerator[ChatResponse, None]:
    last: ChatResponse | None = None
    try:
        async for chunk in chunks:
            last = chunk if getattr(chunk, "usage", None) is not None else last
            yield chunk
    finally:
        await chunks.aclose()
        if last is not None:
            _learn(model, last, estimated)


def _take(model: Any) -> int | None:
    expected = _expected.get()
    if expected is None or expected[0] is not model:
        return None
    _expected.set(None)
    return expected[1]


def _learn(model: Any, answer: Any, estimated: int) -> None:
    known = _known(model)
    if known is not None and isinstance(answer, ChatResponse):
        known.learn(estimated, usage_of(answer).input_tokens)


def tools_of(agent: Any) -> Sequence[Mapping[str, Any]]:
    """The tool schemas an agent sends with every prompt; none where it has no toolkit."""
    schemas = getattr(getattr(agent, "toolkit", None), "get_json_schemas", None)
    return list(schemas()) if callable(schemas) else []
