"""`BaseStep`, the unit of work, and `Ref`, how a step names the components it needs."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar, cast, overload

from agentscope_reme.errors import BadInput
from agentscope_reme.results import Result
from agentscope_reme.steps.context import ApplicationContext, Components, RuntimeContext

T = TypeVar("T")
R = TypeVar("R")


class Ref(Generic[T]):
    """A component a step uses without building it.

    Declared as a class attribute, ``file_store = Ref(lambda parts: parts.store)``, and read as
    ``self.file_store``. It resolves, in this order, to the step's own argument of that name, the
    run's value of that name, and the application's component; the answer is kept for the run and
    looked up anew in the next.

    Args:
        component: picks the component; checked by the type checker, so a wrong name cannot ship.
    """

    def __init__(self, component: Callable[[Components], T]) -> None:
        self._component = component
        self._name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, step: None, owner: type) -> Ref[T]: ...
    @overload
    def __get__(self, step: BaseStep[Any], owner: type) -> T: ...
    def __get__(self, step: BaseStep[Any] | None, owner: type) -> Ref[T] | T:
        if step is None:
            return self
        cache = step.resolved
        if self._name not in cache:
            cache[self._name] = self._resolve(step)
        return cast("T", cache[self._name])

    def _resolve(self, step: BaseStep[Any]) -> Any:
        if self._name in step.arguments:
            return step.arguments[self._name]
        if self._name in step.context.values:
            return step.context.values[self._name]
        return self._component(step.context.application.components)


class BaseStep(ABC, Generic[R]):
    """One unit of work: it receives a `RuntimeContext`, runs `execute` and returns a result.

    An instance holds configuration only. Every call runs on a shallow copy that carries the run's
    context, so one instance can run many times at once.

    Args:
        application: where to run when a call brings no context.
        input_mapping: ``{"value of the run": "name this step reads"}``, applied before the run.
        output_mapping: the same, applied after it.
        arguments: fixed values for this step's refs, by attribute name.

    Raises:
        BadInput: an argument names no ref of this step.
    """

    def __init__(
        self,
        *,
        application: ApplicationContext | None = None,
        input_mapping: Mapping[str, str] | None = None,
        output_mapping: Mapping[str, str] | None = None,
        **arguments: Any,
    ) -> None:
        for name in arguments:
            if not isinstance(getattr(type(self), name, None), Ref):
                raise BadInput(
                    name,
                    f"{type(self).__name__} has no such component",
                    "Name one of its Ref attributes.",
                )
        self.application = application
        self.input_mapping = dict(input_mapping or {})
        self.output_mapping = dict(output_mapping or {})
        self.arguments: Mapping[str, Any] = arguments

    reads_index: ClassVar[bool] = True
    """Whether it waits until the index shows every turn that was recorded before it runs."""

    @property
    def context(self) -> RuntimeContext:
        """The run this copy of the step belongs to.

        Raises:
            BadInput: the step is not running.
        """
        found = self.__dict__.get("_context")
        if found is None:
            raise BadInput(type(self).__name__, "the step is not running", "Call the step.")
        return cast("RuntimeContext", found)

    @property
    def resolved(self) -> dict[str, Any]:
        """The components this run has looked up so far."""
        return cast("dict[str, Any]", self.__dict__.setdefault("_resolved", {}))

    async def __call__(
        self, context: RuntimeContext | ApplicationContext | None = None, **kwargs: Any
    ) -> R:
        """Run once; keyword arguments become values of the run."""
        run = copy.copy(self)
        run.__dict__["_resolved"] = {}
        run.__dict__["_context"] = RuntimeContext.from_context(
            context if context is not None else self.application, **kwargs
        )
        if run.reads_index:
            await run.context.application.components.log_indexing.drain()
        if run.input_mapping:
            run.context.apply_mapping(run.input_mapping)
        result = await run.execute()
        if run.output_mapping:
            run.context.apply_mapping(run.output_mapping)
        return result

    @abstractmethod
    async def execute(self) -> R:
        """Do the work with ``self.context`` and the refs; return a result."""


async def run_workflow(
    steps: Sequence[BaseStep[Any]], context: RuntimeContext | ApplicationContext, **values: Any
) -> Any:
    """Run steps one after the other over one context; the last result is the answer.

    A step whose result says ``success=False`` ends the workflow with that result.
    """
    run = RuntimeContext.from_context(context, **values)
    result: Any = None
    for step in steps:
        result = await step(run)
        if isinstance(result, Result) and not result.success:
            break
    return result
