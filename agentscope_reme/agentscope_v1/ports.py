"""The three model ports of the core, made of AgentScope 1.x parts."""

from __future__ import annotations

from agentscope.embedding import EmbeddingModelBase
from agentscope.formatter import FormatterBase
from agentscope.model import ChatModelBase

from agentscope_reme.agentscope_v1.background_agent import ModelAgent
from agentscope_reme.agentscope_v1.chat import ModelChat
from agentscope_reme.agentscope_v1.embeddings import ModelEmbeddings
from agentscope_reme.ports import AgentPort, ChatPort, EmbeddingPort


def chat_port(model: ChatModelBase, formatter: FormatterBase | None = None) -> ChatPort:
    """Completion and structured output; `formatter` defaults to that of the model's class."""
    return ModelChat(model, formatter)


def agent_port(
    model: ChatModelBase, formatter: FormatterBase | None = None, *, name: str = "memory"
) -> AgentPort:
    """Tool-using runs, each by a fresh `ReActAgent` called `name`."""
    return ModelAgent(model, formatter, name=name)


def embedding_port(model: EmbeddingModelBase) -> EmbeddingPort:
    """Vectors of texts, and of images where the model takes them."""
    return ModelEmbeddings(model)
