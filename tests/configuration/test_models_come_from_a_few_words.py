"""Models of the installed AgentScope by backend and name; they are asked over a real socket."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentscope_reme.agentscope_line import installed_line
from agentscope_reme.configuration import chat_model, embedding_model, load
from agentscope_reme.errors import BadInput
from agentscope_reme.facade.configured_models import (
    CHAT_VARIABLES,
    chat_model_of,
    embedding_model_of,
    with_environment,
)
from agentscope_reme.facade.models import chat_port_of, embedding_port_of
from agentscope_reme.messages import Message
from agentscope_reme.model_configs import ChatModelConfig
from tests.loopback import LoopbackProvider

ADDRESS = "http://127.0.0.1:9/v1"
_FIRST, _SECOND = installed_line() == 1, installed_line() == 2


async def test_a_configured_chat_model_answers(provider: LoopbackProvider, tmp_path: Path) -> None:
    provider.reply(text="It opens at nine.")
    found = load(
        {
            "llm.model_name": "m",
            "llm.api_key": "k",
            "llm.base_url": provider.openai_url,
            "llm.parameters.temperature": "0.25",
        },
        environ={},
        folder=tmp_path,
    )
    model, formatter = chat_model(found)
    port = chat_port_of(model, formatter)
    assert port is not None
    answer = await port.complete([Message.from_dict({"role": "user", "content": "When?"})])
    [request] = provider.chats
    assert answer.text == "It opens at nine."
    assert (request.body["model"], request.body["temperature"]) == ("m", 0.25)
    headers = {name.lower(): value for name, value in request.headers.items()}
    assert headers["authorization"] == "Bearer k"


async def test_a_configured_embedding_model_answers(
    provider: LoopbackProvider, tmp_path: Path
) -> None:
    found = load(
        {
            "embedding.model_name": "e",
            "embedding.api_key": "none",
            "embedding.base_url": provider.openai_url,
            "embedding.dimensions": "8",
        },
        environ={},
        folder=tmp_path,
    )
    port = embedding_port_of(embedding_model(found))
    assert port is not None
    [vector] = await port.embed(["The vault opens at nine."])
    assert vector


def test_without_a_key_there_is_no_model(tmp_path: Path) -> None:
    found = load({"config": "cli"}, environ={}, folder=tmp_path)
    assert chat_model(found) == (None, None)
    assert embedding_model(found) is None
    local = load({"embedding.backend": "local"}, environ={}, folder=tmp_path)
    assert local.embedding.has_key
    assert local.embedding.named


def test_a_key_without_a_name_is_told(tmp_path: Path) -> None:
    found = load(environ={"REME_LLM_API_KEY": "k"}, folder=tmp_path)
    with pytest.raises(BadInput, match="REME_LLM_MODEL_NAME"):
        chat_model(found)


@pytest.mark.parametrize("section", ["llm", "embedding"])
def test_an_address_that_is_none_is_told_with_its_origin(section: str, tmp_path: Path) -> None:
    (tmp_path / "reme.yaml").write_text(
        f"{section}:\n  model_name: m\n  api_key: k\n  base_url: nonsense\n", encoding="utf-8"
    )
    found = load(environ={}, folder=tmp_path)
    make = chat_model if section == "llm" else embedding_model
    with pytest.raises(BadInput, match=rf"{section}.base_url \(reme.yaml:4\) is no address"):
        make(found)


@pytest.mark.parametrize("backend", ["openai", "dashscope", "anthropic"])
@pytest.mark.parametrize("base_url", [None, ADDRESS])
def test_providers_of_both_lines(backend: str, base_url: str | None, dashscope: None) -> None:
    model, formatter = chat_model_of(
        {
            "backend": backend,
            "model_name": "m",
            "api_key": "k",
            "base_url": base_url,
            "stream": True,
            "parameters": {"max_tokens": 7},
        }
    )
    assert type(model).__name__.lower() == f"{backend}chatmodel"
    assert (formatter is None) == _SECOND
    assert model.stream
    assert _address(model, base_url) == base_url
    if _FIRST:
        assert formatter.__class__.__name__.lower() == f"{backend}chatformatter"


def _address(model: Any, expected: str | None) -> str | None:
    if expected is None:
        return None
    if _SECOND:
        return str(model.credential.base_url)
    if type(model).__name__ == "DashScopeChatModel":  # which writes it into its library
        import dashscope

        return str(dashscope.base_http_api_url)
    return str(model.client.base_url).rstrip("/")


@pytest.fixture
def dashscope(monkeypatch: pytest.MonkeyPatch) -> None:
    import dashscope as library

    monkeypatch.setattr(library, "base_http_api_url", library.base_http_api_url)


REFUSED = {
    1: [
        (chat_model_of, {"backend": "deepseek"}, "AgentScope 2.x"),
        (embedding_model_of, {"backend": "dashscope", "base_url": ADDRESS}, "no address for this"),
    ],
    2: [
        (chat_model_of, {"backend": "gemini", "base_url": ADDRESS}, "no address for this"),
        (chat_model_of, {"parameters": {"temprature": 1}}, "Did you mean `temperature`"),
        (chat_model_of, {"parameters": {"temperature": "hot"}}, "temperature"),
    ],
}


@pytest.mark.parametrize(("make", "config", "told"), REFUSED[installed_line() or 1])
def test_what_the_installed_line_cannot_do_is_refused(
    make: Any, config: dict[str, Any], told: str
) -> None:
    with pytest.raises(BadInput, match=told):
        make({"model_name": "m", **config})


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({"model_name": ""}, "no model is named"),
        ({"model": "m"}, "Did you mean `model_name`"),
        ({"model_name": "m", "backend": "nobody"}, "'backend'"),
        ({"model_name": "m", "base_url": "host:80"}, "no address"),
        ("m", "no configuration of a model"),
    ],
)
def test_a_configuration_that_names_no_model_is_refused(config: Any, told: str) -> None:
    for make in (chat_model_of, embedding_model_of):
        with pytest.raises(BadInput, match=told):
            make(config)


def test_a_key_is_never_shown() -> None:
    config = ChatModelConfig.of({"model_name": "m", "api_key": "sk-secret"})
    assert "sk-secret" not in repr(config)
    assert "sk-secret" not in config.model_dump_json()
    with pytest.raises(BadInput) as refused:
        ChatModelConfig.of({"model_name": "m", "api_key": ["sk-secret"]})
    assert "sk-secret" not in str(refused.value)


def test_the_environment_completes_what_is_left_open() -> None:
    environ = {"REME_LLM_API_KEY": "k", "REME_LLM_MODEL_NAME": "other", "REME_LLM_BASE_URL": " "}
    found = with_environment({"backend": "openai", "model_name": "m"}, CHAT_VARIABLES, environ)
    assert found == {"backend": "openai", "model_name": "m", "api_key": "k"}
