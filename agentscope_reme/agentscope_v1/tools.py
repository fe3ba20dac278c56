"""Neutral tools as functions of an AgentScope 1.x toolkit.

Formatters of 1.x treat an image inside a tool result in ways that hurt: most write a new temporary
file at every prompt, and promoting it reorders parallel results. So a tool's answer is always
text here. Its images wait in `pending_images(toolkit)`, and whoever drives the agent (the hooks,
or a background run) shows them as a user message that lives for one prompt.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final
from weakref import WeakKeyDictionary

from agentscope.message import TextBlock as TextDict
from agentscope.tool import Toolkit, ToolResponse

from agentscope_reme.agentscope_v1.marks import HINT, recall_message
from agentscope_reme.agentscope_v1.messages import describe
from agentscope_reme.errors import BadInput
from agentscope_reme.messages import DataBlock, TextBlock
from agentscope_reme.ports import Tool, ToolOutput

_log = logging.getLogger(__name__)
_OWNER: Final = "_agentscope_reme_tool"
_MOST_PENDING: Final = 5
_SHOWN = "The images the last tool answer spoke of:"

ToolFunction = Callable[..., Awaitable[ToolResponse]]


class PendingImages:
    """Images a tool returned that no prompt has shown yet, oldest first."""

    def __init__(self) -> None:
        self._images: list[DataBlock] = []

    def add(self, images: Sequence[DataBlock]) -> None:
        """Keep images for the next prompt; beyond the limit the oldest are let go."""
        self._images = [*self._images, *images][-_MOST_PENDING:]

    def take(self) -> list[DataBlock]:
        """The waiting images, which then wait no longer."""
        images, self._images = self._images, []
        return images


_pending: WeakKeyDictionary[Toolkit, PendingImages] = WeakKeyDictionary()


def pending_images(toolkit: Toolkit) -> PendingImages:
    """Where the tools of a toolkit leave their images."""
    return _pending.setdefault(toolkit, PendingImages())


async def show_pending_images(toolkit: Toolkit, memory: Any, *, vision: bool) -> None:
    """Put waiting images into the next prompt, and only into that one.

    Args:
        toolkit: whose tools returned them.
        memory: the agent's memory; the message is marked as a hint.
        vision: whether the agent's formatter passes images on; without it they are dropped.
    """
    images = pending_images(toolkit).take()
    if not images or not vision:
        return
    await memory.add(recall_message(TextBlock(text=_SHOWN), *images), marks=HINT)


def register_tools(
    toolkit: Toolkit, tools: Sequence[Tool], *, group_name: str = "basic"
) -> list[str]:
    """Offer tools to the agents that use a toolkit.

    A tool of this library with the same name is replaced, so registering twice is harmless. A
    name the application already gave to a function of its own is left alone and logged.

    Args:
        toolkit: the toolkit of an agent.
        tools: what to offer; scope and rights are bound inside, never taken from the model.
        group_name: the tool group; one other than ``basic`` must exist.

    Returns:
        The names that now run this library's tools.

    Raises:
        BadInput: this is no toolkit.
    """
    if not isinstance(toolkit, Toolkit):
        raise BadInput(toolkit, "this is no toolkit", "Pass a `Toolkit` of AgentScope 1.x.")
    registered = []
    for tool in tools:
        present = toolkit.tools.get(tool.name)
        if present is not None and not getattr(present.original_func, _OWNER, False):
            _log.warning(
                "The toolkit has a function %r already; the memory tool is left out.", tool.name
            )
            continue
        toolkit.remove_tool_function(tool.name)
        toolkit.register_tool_function(
            as_function(tool, pending_images(toolkit)),
            group_name=group_name,
            json_schema=_schema(tool),
        )
        registered.append(tool.name)
    return registered


def as_function(tool: Tool, images: PendingImages) -> ToolFunction:
    """A function `Toolkit` can call; it always answers in words."""

    async def run(**arguments: Any) -> ToolResponse:
        output = await tool.call(arguments)
        found = [block for block in output.blocks if isinstance(block, DataBlock)]
        images.add([block for block in found if block.is_image and block.data])
        return text_response(_words(output, found))

    run.__name__ = tool.name
    run.__doc__ = tool.description
    setattr(run, _OWNER, True)
    return run


def text_response(text: str) -> ToolResponse:
    """A tool answer made of one text."""
    return ToolResponse(content=[TextDict(type="text", text=text)])


def _words(output: ToolOutput, binaries: Sequence[DataBlock]) -> str:
    texts = [block.text for block in output.blocks if isinstance(block, TextBlock)]
    parts = [output.text, *texts, *(describe(block) for block in binaries)]
    return "\n".join(part for part in parts if part)


def _schema(tool: Tool) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.json_schema(),
        },
    }
