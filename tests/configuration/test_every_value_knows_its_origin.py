"""Command line over environment over ``.env`` over file over default, and each value says which."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from agentscope_reme.cli import main
from agentscope_reme.configuration import Configuration, load, shown
from agentscope_reme.errors import BadInput

KEY = "sk-very-secret"


def written(folder: Path, text: str, name: str = "reme.yaml") -> None:
    (folder / name).write_text(text, encoding="utf-8")


def test_without_anything_the_defaults_hold(tmp_path: Path) -> None:
    found = load(environ={}, folder=tmp_path)
    assert found == Configuration()
    assert found.workspace_dir == ".reme"
    assert found.origin("workspace_dir") == "default"


def test_the_nearer_source_is_the_stronger(tmp_path: Path) -> None:
    written(tmp_path, "llm:\n  model_name: of-the-file\n  base_url: https://file\n  api_key: f\n")
    written(
        tmp_path, "REME_LLM_MODEL_NAME=of-the-dotenv\nREME_LLM_BASE_URL=https://dotenv\n", ".env"
    )
    environ = {"REME_LLM_MODEL_NAME": "of-the-environment"}

    def model(words: dict[str, str], **variables: str) -> tuple[str, str]:
        found = load(words, environ=variables, folder=tmp_path, env_file=True)
        return found.llm.model_name, found.origin("llm.model_name")

    assert model({"llm.model_name": "written"}, **environ) == ("written", "command line")
    assert model({}, **environ) == (
        "of-the-environment",
        "environment variable REME_LLM_MODEL_NAME",
    )
    assert model({}) == ("of-the-dotenv", ".env:1 (REME_LLM_MODEL_NAME)")
    found = load(environ=environ, folder=tmp_path)
    assert (found.llm.base_url, found.origin("llm.base_url")) == ("https://file", "reme.yaml:3")


def test_dotenv_is_read_only_where_it_is_asked_for_and_changes_no_environment(
    tmp_path: Path,
) -> None:
    written(tmp_path, f"REME_LLM_API_KEY={KEY}\n", ".env")
    assert not load(environ={}, folder=tmp_path).llm.has_key
    before = dict(os.environ)
    assert load(environ={}, folder=tmp_path, env_file=True).llm.key == KEY
    assert dict(os.environ) == before


def test_an_empty_variable_says_nothing(tmp_path: Path) -> None:
    written(tmp_path, "llm:\n  model_name: m\n")
    found = load(environ={"REME_LLM_MODEL_NAME": ""}, folder=tmp_path)
    assert found.llm.model_name == "m"


def test_the_documented_variables_are_understood(tmp_path: Path) -> None:
    found = load(
        environ={
            "REME_LLM_API_KEY": "a",
            "REME_LLM_BASE_URL": "https://llm",
            "REME_EMBEDDING_API_KEY": "b",
            "EMBEDDING_API_KEY": "older",
            "EMBEDDING_BASE_URL": "https://embedding",
            "EMBEDDING_MODEL_NAME": "e",
            "EMBEDDING_DIMENSIONS": "256",
            "TAVILY_API_KEY": "t",
        },
        folder=tmp_path,
    )
    assert (found.llm.key, found.llm.base_url) == ("a", "https://llm")
    assert (found.embedding.key, found.embedding.base_url) == ("b", "https://embedding")
    assert (found.embedding.model_name, found.embedding.dimensions) == ("e", 256)
    assert found.chat.tavily_api_key.get_secret_value() == "t"


def test_the_key_of_a_documented_provider_goes_to_that_provider(tmp_path: Path) -> None:
    environ = {"EMBEDDING_API_KEY": "k", "EMBEDDING_MODEL_NAME": "e"}
    found = load(environ=environ, folder=tmp_path)
    assert found.embedding.base_url == "https://dashscope.aliyuncs.com/compatible-mode/v1"
    assert found.origin("embedding.base_url") == "default of EMBEDDING_BASE_URL"
    written(tmp_path, "embedding:\n  base_url: https://mine\n")
    assert load(environ=environ, folder=tmp_path).embedding.base_url == "https://mine"


def test_dotted_keys_reach_everything(tmp_path: Path) -> None:
    long = "components.agent_wrapper.default.context_config.max_image_num"
    found = load(
        {
            "settings.chunk_byte_size": "500",
            long: "2",
            "settings.forget_after_days": '{"session": 365}',
            "llm.parameters.temperature": "0.2",
            "llm.parameters.stop": "five",
            "service.jobs": '["search"]',
            "chat.permission": "deny",
            "user": "ann",
        },
        environ={},
        folder=tmp_path,
    )
    assert (found.settings.chunk_byte_size, found.settings.max_image_num) == (500, 2)
    assert found.settings.forget_after_days == {"session": 365}
    assert found.llm.parameters == {"temperature": 0.2, "stop": "five"}
    assert (found.service.jobs, found.chat.permission) == (["search"], "deny")
    assert found.memory["user"] == "ann"


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("llm.modelname", "x", "Did you mean `llm.model_name`"),
        ("settings.chunk_size", "5", "Did you mean `settings.chunk_byte_size`"),
        ("model_name", "x", "Did you mean `llm.model_name`"),
        ("llm", "x", "a section, not a value"),
        ("user.name", "x", "no such key"),
        ("llm.model_name.x", "y", "no such key"),
        ("language", "de", "'language': it does not fit"),
        ("settings.chunk_byte_size", "few", "'settings.chunk_byte_size'"),
        ("settings.dream_at", "4 am", "written HH:MM, such as 04:00 (command line). Correct"),
        ("settings.retention_at", "25:00", "'settings.retention_at': it does not fit: no time of"),
        ("settings.forget_after_days", "{session", "no JSON"),
        ("settings.forget_after_days", "[" * 100_000, "no JSON"),
        ("chat.reserve_tokens", "99000", "below context_window_tokens"),
        ("service.port", "70000", "'service.port'"),
        ("config", "clii", "Did you mean `cli`"),
        ("config", "nowhere.yaml", "no configuration to be read"),
    ],
)
def test_what_does_not_fit_is_named_by_its_key(
    key: str, value: str, told: str, tmp_path: Path
) -> None:
    with pytest.raises(BadInput) as refused:
        load({key: value}, environ={}, folder=tmp_path)
    assert told in str(refused.value)


def test_a_refusal_never_repeats_a_secret(tmp_path: Path) -> None:
    written(tmp_path, f"llm:\n  api_key: [{KEY}]\n")
    with pytest.raises(BadInput, match=r"llm.api_key.*reme.yaml:2") as refused:
        load(environ={}, folder=tmp_path)
    assert KEY not in str(refused.value)
    assert refused.value.__cause__ is None


def test_everything_is_shown_with_its_origin_and_no_secret(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REME_LLM_API_KEY", KEY)
    written(tmp_path, f"TAVILY_API_KEY='{KEY}'\n", ".env")
    written(
        tmp_path,
        "extends: cli\n"
        f"embedding: {{api_key: {KEY}, base_url: 'https://me:{KEY}@host/v1?key={KEY}'}}\n"
        f"vector_store: {{backend: qdrant, options: {{url: 'http://q', api_key: {KEY}}}}}\n"
        f"llm: {{parameters: {{extra_headers: {{Authorization: {KEY}}}}}}}\n",
    )
    assert main(["config", "show", "user=ann"]) == 0
    text = capsys.readouterr().out
    assert main(["config", "show", "user=ann", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["values"]
    assert KEY not in text
    assert KEY not in json.dumps(rows)
    found = {row["key"]: (row["value"], row["origin"]) for row in rows}
    assert found["user"] == ("ann", "command line")
    assert found["llm.api_key"] == ("********", "environment variable REME_LLM_API_KEY")
    assert found["chat.tavily_api_key"] == ("********", ".env:1 (TAVILY_API_KEY)")
    assert found["llm.model_name"] == ("qwen3.5-plus", "built-in cli.yaml:6")
    assert found["embedding.base_url"] == ("https://********@host/v1?********", "reme.yaml:2")
    assert found["workspace_dir"] == (".reme", "default")
    assert all(f"({origin})" in text for _, origin in found.values())
    assert [row["key"] for row in rows] == [row.key for row in shown(load(environ={}))]


def test_what_config_cannot_do_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config"]) == 2
    assert main(["config", "edit"]) == 2
    assert "config show" in capsys.readouterr().err
