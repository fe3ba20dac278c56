"""The model and the agent of the demo, on whichever AgentScope line is installed."""

from __future__ import annotations

import importlib
import inspect
import logging
import os
from copy import copy
from dataclasses import dataclass
from typing import Any, Final

from stand_in_model import make_stand_in
from stand_in_rules import LABEL

from agentscope_reme import Message, ReMe
from agentscope_reme.agentscope_line import installed_line
from agentscope_reme.errors import ModelFailed
from agentscope_reme.facade.models import chat_port_of

_PROMPT: Final = (
    "You are a helpful companion with a long-term memory. When the user asks about something from "
    "the past, call memory_search before you answer, answer in one or two sentences, and end with "
    "the path and line range of the passage you used, such as (daily/2026-01-31/topic.md:5-9)."
)
_DASHSCOPE_MODEL: Final = "qwen3-vl-plus"  # both defaults can see images and call tools
_OPENAI_MODEL: Final = "gpt-4o-mini"


@dataclass(frozen=True, slots=True)
class DemoModel:
    """A chat model, the formatter AgentScope 1.x needs beside it, and what to tell the reader.

    ``sees_images`` says whether it is worth showing it any.
    """

    model: Any
    formatter: Any
    label: str
    sees_images: bool


def demo_model() -> DemoModel:
    """A real model when the environment has a key for one, else the rule-based stand-in.

    ``DASHSCOPE_API_KEY`` goes before ``OPENAI_API_KEY``; ``REME_DEMO_MODEL`` names another model.
    """
    if key := os.environ.get("DASHSCOPE_API_KEY"):
        name = os.environ.get("REME_DEMO_MODEL", _DASHSCOPE_MODEL)
        return DemoModel(*_dashscope(key, name), f"{name} at DashScope", sees_images=True)
    if key := os.environ.get("OPENAI_API_KEY"):
        name = os.environ.get("REME_DEMO_MODEL", _OPENAI_MODEL)
        return DemoModel(*_openai(key, name), f"{name} at OpenAI", sees_images=True)
    model, formatter = make_stand_in()
    label = f"{LABEL} (set DASHSCOPE_API_KEY or OPENAI_API_KEY to use a real model)"
    return DemoModel(model, formatter, label, sees_images=False)


class NoAnswer(Exception):
    """The model answers nothing at all: a wrong key, no network, no quota."""


async def try_out(chosen: DemoModel) -> None:
    """Ask the model for one word, so that a wrong key is told before anything else happens.

    Raises:
        NoAnswer: it failed; the message says what to do.
    """
    model = copy(chosen.model)
    if hasattr(model, "max_retries"):  # of AgentScope 2.x: it would try for ten seconds
        model.max_retries = 0
    port = chat_port_of(model, chosen.formatter)
    if port is None:
        return
    logging.disable(logging.WARNING)  # AgentScope tells of every attempt
    try:
        await port.complete([Message.from_dict({"role": "user", "content": "Say yes."})])
    except ModelFailed as error:
        raise NoAnswer(
            f"{chosen.label} gives no answer ({error.reason}): check its key and the network, or "
            "unset DASHSCOPE_API_KEY and OPENAI_API_KEY to use the stand-in."
        ) from error
    finally:
        logging.disable(logging.NOTSET)


class Companion:
    """A real AgentScope agent with a memory attached.

    Args:
        reme: the memory.
        model: the model that speaks.
        session_id: under which its conversation is recorded.
        record: whether it is recorded at all.
    """

    def __init__(self, reme: ReMe, model: DemoModel, session_id: str, *, record: bool) -> None:
        self._reme = reme
        self._model = model
        self._session_id = session_id
        self._record = record
        self._agent: Any = None
        self._handle: Any = None

    async def say(self, text: str, speaker: str = "user") -> str:
        """Send one message through the agent and return what it answers."""
        if self._agent is None:
            await self._start()
        message = _agentscope("message")
        if installed_line() == 1:
            reply = await self._agent(message.Msg(speaker, text, "user"))
        else:
            reply = await self._agent.reply(message.UserMsg(speaker, text))
        return str(reply.get_text_content() or "")

    async def leave(self) -> None:
        """Take the memory off the agent again."""
        if self._handle is not None:
            await _settled(self._handle.detach())

    async def _start(self) -> None:
        if installed_line() == 1:
            toolkit, self._agent = _agent_v1(self._model)
        else:
            toolkit, self._agent = _agent_v2(self._model)
        await _settled(self._reme.register_tools(toolkit, read_only=True))
        self._handle = await _settled(
            self._reme.attach(self._agent, session_id=self._session_id, record=self._record)
        )


def _agent_v1(model: DemoModel) -> tuple[Any, Any]:
    toolkit = _agentscope("tool").Toolkit()
    agent = _agentscope("agent").ReActAgent(
        "Companion", _PROMPT, model.model, model.formatter, toolkit=toolkit
    )
    agent.set_console_output_enabled(False)  # the demo prints what it wants to show
    return toolkit, agent


def _agent_v2(model: DemoModel) -> tuple[Any, Any]:
    toolkit = _agentscope("tool").Toolkit()
    return toolkit, _agentscope("agent").Agent("Companion", _PROMPT, model.model, toolkit=toolkit)


def _dashscope(key: str, name: str) -> tuple[Any, Any]:
    make = _agentscope("model").DashScopeChatModel
    if installed_line() == 1:
        formatter = _agentscope("formatter").DashScopeChatFormatter()
        return make(name, api_key=key, stream=False), formatter
    login = _agentscope("credential").DashScopeCredential(api_key=key)
    return make(login, name, stream=False), None


def _openai(key: str, name: str) -> tuple[Any, Any]:
    make = _agentscope("model").OpenAIChatModel
    if installed_line() == 1:
        formatter = _agentscope("formatter").OpenAIChatFormatter()
        return make(name, api_key=key, stream=False), formatter
    login = _agentscope("credential").OpenAICredential(api_key=key)
    return make(login, name, stream=False), None


def _agentscope(room: str) -> Any:
    """A part of the installed AgentScope; the two lines have different classes under one name."""
    return importlib.import_module(f"agentscope.{room}")


async def _settled(value: Any) -> Any:
    """The value, awaited where the installed line makes the call asynchronous."""
    return await value if inspect.isawaitable(value) else value
