"""Builds an assistant: what takes seconds to import is imported here, in a thread."""

from __future__ import annotations

from pathlib import Path

from agentscope_reme.chat.assistant import Assistant
from agentscope_reme.chat.memory import ChatMemory
from agentscope_reme.chat.permission import Permissions
from agentscope_reme.configuration import Configuration, chat_model, embedding_model
from agentscope_reme.facade.models import reply_port_of


def assistant_of(configuration: Configuration, permissions: Permissions, folder: Path) -> Assistant:
    """The assistant that is configured, not started yet.

    Args:
        configuration: model, memory and limits.
        permissions: asked before a tool reaches beyond the memory.
        folder: where the person is.

    Raises:
        BadInput: a model cannot be made, or the workspace is not usable.
        StorageFailed: its folders cannot be made.
    """
    model, formatter = chat_model(configuration, stream=True)
    memory = ChatMemory(configuration, model, formatter, embedding_model(configuration))
    port = None if model is None else reply_port_of(model, formatter)
    return Assistant(memory, port, configuration.chat, permissions=permissions, folder=folder)
