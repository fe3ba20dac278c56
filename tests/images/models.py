"""AgentScope's own model classes of either line, pointed at the provider on this machine."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from agentscope_reme.agentscope_line import installed_line
from tests.loopback import LoopbackProvider


def openai(provider: LoopbackProvider, *, stream: bool = False) -> Any:
    make: Any = import_module("agentscope.model").OpenAIChatModel
    if installed_line() == 1:
        arguments = {"base_url": provider.openai_url, "max_retries": 0}
        return make("gpt", api_key="k", stream=stream, client_kwargs=arguments)
    login: Any = import_module("agentscope.credential").OpenAICredential
    key = login(api_key="k", base_url=provider.openai_url)
    return make(key, "gpt", stream=stream, max_retries=0)


def dashscope(provider: LoopbackProvider, *, stream: bool = False) -> Any:
    make: Any = import_module("agentscope.model").DashScopeChatModel
    if installed_line() == 1:  # the name of the model chooses the multimodal route
        address = provider.dashscope_url
        return make("qwen3-vl-plus", api_key="k", stream=stream, base_http_api_url=address)
    login: Any = import_module("agentscope.credential").DashScopeCredential
    key = login(api_key="k", base_url=provider.compatible_url)
    return make(key, "qwen3-vl-plus", stream=stream, max_retries=0)


def formatter(name: str) -> Any:
    made: Any = getattr(import_module("agentscope.formatter"), name)
    return made()
