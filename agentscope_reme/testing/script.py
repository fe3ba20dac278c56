"""A conversation with a model, written down beforehand.

A `Script` knows no framework. The scripted models of both AgentScope lines ask it what to answer,
so one scenario can be told once and played on either line::

    script = Script(["Hello.", ToolCall("read", {"path": "MEMORY.md"}), "It says so."])

A step may be

- a string or `Text`: a spoken answer;
- a `ToolCall`, or a list of them: a request to run tools;
- a mapping, a pydantic model or `Structured`: an answer to a structured call;
- an exception: what the provider raises;
- a function of the `Request`, sync or async, that returns any of these.
"""

from __future__ import annotations

import inspect
import json
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel


class UnscriptedCall(AssertionError):
    """A model was called more often than its script says."""


@dataclass(frozen=True, slots=True)
class Text:
    """A spoken answer, and the reasoning before it when there is some."""

    text: str
    thinking: str = ""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A request to run one tool; an empty ``id`` is numbered by the script (``call-1``)."""

    name: str
    input: Mapping[str, Any] = field(default_factory=dict)
    id: str = ""


@dataclass(frozen=True, slots=True)
class ToolCalls:
    """Several tools requested in one answer, with what the model says beside them."""

    calls: tuple[ToolCall, ...]
    text: str = ""


@dataclass(frozen=True, slots=True)
class Structured:
    """The value a structured call is answered with; it may be a wrong one on purpose."""

    value: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Request:
    """One call as the model received it.

    ``messages`` are whatever the line hands to its models: dictionaries made by a formatter in
    1.x, message objects in 2.x. ``output`` is the type of a structured call, when there is one.
    """

    number: int
    messages: tuple[Any, ...]
    tools: tuple[Mapping[str, Any], ...] = ()
    tool_choice: Any = None
    output: Any = None

    @property
    def text(self) -> str:
        """The whole prompt as one string, to look for words in."""
        return json.dumps([_plain(m) for m in self.messages], ensure_ascii=False, default=str)

    @property
    def tool_names(self) -> list[str]:
        """The names of the offered tools, in order."""
        return [str(tool.get("function", tool).get("name")) for tool in self.tools]


Answer = Text | ToolCalls | Structured
"""What a scripted model has to say, in one of three forms."""

Plain = Answer | ToolCall | Sequence[ToolCall] | str | Mapping[str, Any] | BaseModel | BaseException
Step = Plain | Callable[[Request], Plain | Awaitable[Plain]]
"""Anything that may stand in a script."""

_unscripted: list[UnscriptedCall] = []
_unscripted_lock = threading.Lock()


def take_unscripted_calls() -> list[UnscriptedCall]:
    """Every unscripted call of this process since the last look.

    An application may swallow the exception it got; a test fixture that looks here after each
    test notices all the same.
    """
    with _unscripted_lock:
        found = list(_unscripted)
        _unscripted.clear()
    return found


class Script:
    """The answers of a model in order, and a record of what it was asked.

    Args:
        steps: what is answered to the first call, the second, and so on.

    Attributes:
        requests: every call so far, unscripted ones too.
    """

    def __init__(self, steps: Iterable[Step] = ()) -> None:
        self._steps: list[Step] = list(steps)
        self._position = 0
        self._calls = 0
        self._lock = threading.Lock()
        self.requests: list[Request] = []
        self.unscripted: list[UnscriptedCall] = []

    def add(self, *steps: Step) -> None:
        """Write more steps at the end."""
        with self._lock:
            self._steps.extend(steps)

    @property
    def remaining(self) -> int:
        """How many steps have not been played yet."""
        return len(self._steps) - self._position

    async def answer(
        self,
        messages: Sequence[Any],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        tool_choice: Any = None,
        output: Any = None,
    ) -> Answer:
        """Play the next step.

        Args:
            messages: the prompt, in the form the calling line uses.
            tools: the JSON schemas that were offered.
            tool_choice: how the model was told to use them.
            output: the type of a structured call.

        Raises:
            UnscriptedCall: no step is left; also remembered for `take_unscripted_calls`.
            BaseException: the step is an exception, or its function raised.
        """
        request, step = self._next(messages, tools, tool_choice, output)
        if callable(step):
            made = step(request)
            step = await made if inspect.isawaitable(made) else made
        return self._as_answer(step)

    def assert_exhausted(self) -> None:
        """Check that every step was played and nothing else was asked.

        Raises:
            AssertionError: steps are left over, or there were unscripted calls.
        """
        if self.unscripted:
            raise self.unscripted[0]
        if self.remaining:
            left = self._steps[self._position :]
            raise AssertionError(f"{len(left)} scripted steps were never played: {left!r:.500}")

    def _next(
        self,
        messages: Sequence[Any],
        tools: Sequence[Mapping[str, Any]] | None,
        tool_choice: Any,
        output: Any,
    ) -> tuple[Request, Step]:
        with self._lock:
            request = Request(
                number=len(self.requests) + 1,
                messages=tuple(messages),
                tools=tuple(tools or ()),
                tool_choice=tool_choice,
                output=output,
            )
            self.requests.append(request)
            if self._position == len(self._steps):
                raise self._refuse(request)
            step = self._steps[self._position]
            self._position += 1
        return request, step

    def _refuse(self, request: Request) -> UnscriptedCall:
        error = UnscriptedCall(
            f"model call {request.number} is not in the script of {len(self._steps)} steps; "
            f"the prompt ended with {request.text[-500:]}"
        )
        self.unscripted.append(error)
        with _unscripted_lock:
            _unscripted.append(error)
        return error

    def _as_answer(self, step: Any) -> Answer:
        match step:
            case Text() | Structured():
                return step
            case str():
                return Text(step)
            case ToolCalls():
                return ToolCalls(self._numbered(step.calls), step.text)
            case ToolCall():
                return ToolCalls(self._numbered((step,)))
            case BaseException():
                raise step
            case BaseModel():
                return Structured(step.model_dump(mode="json"))
            case Mapping():
                return Structured(step)
            case [*calls] if calls and all(isinstance(call, ToolCall) for call in calls):
                return ToolCalls(self._numbered(tuple(calls)))
            case _:
                raise TypeError(f"{step!r} cannot be a step of a script; see its documentation")

    def _numbered(self, calls: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
        named = []
        for call in calls:
            with self._lock:
                self._calls += 1
                number = self._calls
            named.append(ToolCall(call.name, call.input, call.id or f"call-{number}"))
        return tuple(named)


def as_script(steps: Script | Iterable[Step]) -> Script:
    """A script as it is, or a new one made of steps."""
    return steps if isinstance(steps, Script) else Script(steps)


def _plain(message: Any) -> Any:
    return message.model_dump(mode="json") if isinstance(message, BaseModel) else message
