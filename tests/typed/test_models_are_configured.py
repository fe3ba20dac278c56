"""Models and stores come out of the documented configurations, the environment, or AgentScope."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentscope_reme import Settings, VectorReMe
from agentscope_reme.errors import BadInput
from agentscope_reme.testing import FakeClock, ScriptedChatModel
from tests.loopback.server import LoopbackProvider
from tests.typed.conftest import Open
from tests.typed.talks import COFFEE, drafts

LLM = {"backend": "openai", "model_name": "qwen3.5-plus"}
EMBEDDING = {"backend": "openai", "model_name": "text-embedding-v4", "dimensions": 64}


@pytest.fixture(autouse=True)
def _a_bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in ("LLM", "EMBEDDING"):
        for name in ("BACKEND", "MODEL_NAME", "API_KEY", "BASE_URL", "DIMENSIONS"):
            monkeypatch.delenv(f"REME_{kind}_{name}", raising=False)


async def story(reme: VectorReMe, provider: LoopbackProvider) -> None:
    """The example of the document."""
    provider.reply(structured=drafts("Alice drinks green tea."))
    await reme.start()
    await reme.summarize_memory(messages=COFFEE, user_name="alice")
    provider.reply(structured={"queries": ["green"]})
    provider.reply(structured={"answer": "Green tea.", "sources": [1]})
    assert "Green tea." in await reme.retrieve_memory(query="tea", user_name="alice")
    node = await reme.add_memory(memory_content="concise code", user_name="alice")
    memory_id = node.memory_id
    assert (await reme.get_memory(memory_id=memory_id)).content == "concise code"
    updated = await reme.update_memory(
        memory_id=memory_id, user_name="alice", memory_content="commented code"
    )
    assert updated.memory_id == memory_id
    listed = await reme.list_memory(
        user_name="alice", limit=10, sort_key="time_created", reverse=True
    )
    assert {one.content for one in listed} == {"commented code", "Alice drinks green tea."}
    await reme.delete_memory(memory_id=memory_id)
    assert await reme.delete_all() > 0
    await reme.close()
    routes = [request.route for request in provider.requests]
    assert routes.count("openai-chat") == 3
    assert "openai-embeddings" in routes
    assert {request.body["model"] for request in provider.requests} == {
        "qwen3.5-plus",
        "text-embedding-v4",
    }


async def test_the_documents_configuration(tmp_path: Path, provider: LoopbackProvider) -> None:
    reme = VectorReMe(
        working_dir=str(tmp_path / ".reme"),
        default_llm_config=LLM,
        default_embedding_model_config=EMBEDDING,
        default_vector_store_config={"backend": "local"},
        llm_api_key="k",
        llm_base_url=provider.openai_url,
        embedding_api_key="k",
        embedding_base_url=provider.openai_url,
    )
    await story(reme, provider)


async def test_the_environment_completes_it(
    tmp_path: Path, provider: LoopbackProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in ("LLM", "EMBEDDING"):
        monkeypatch.setenv(f"REME_{kind}_API_KEY", "k")
        monkeypatch.setenv(f"REME_{kind}_BASE_URL", provider.openai_url)
    monkeypatch.setenv("REME_LLM_MODEL_NAME", "qwen3.5-plus")
    reme = VectorReMe(tmp_path, default_embedding_model_config=EMBEDDING)
    await story(reme, provider)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"default_llm_config": {"backend": "nobody", "model_name": "m"}}, "backend"),
        ({"default_llm_config": {"model": "m"}}, "no such key"),
        ({"default_llm_config": {"backend": "openai"}}, "it names no model"),
        ({"default_llm_config": "qwen"}, "`default_llm_config` is no mapping"),
        ({"default_embedding_model_config": {"backend": "openai"}}, "it names no model"),
        ({"default_embedding_model_config": {**EMBEDDING, "dimensions": 0}}, "dimensions"),
        ({"default_vector_store_config": {"backend": "nobody"}}, "there is no such store"),
        ({"default_vector_store_config": {"backend": 1}}, "`backend` is no name"),
        ({"default_vector_store_config": {"hots": "x"}}, "no such option"),
        ({"default_vector_store_config": ["local"]}, "is no mapping"),
        ({"language": "fr"}, "not a language"),
        ({"target_user_names": [""]}, "`user_name` is no name"),
        ({"profile_max_capacity": 0}, "`profile_max_capacity`"),
        ({"settings": {}}, "`settings` is no"),
        ({"clock": 1}, "`clock` is no"),
        ({"clock": FakeClock(), "timezone": "UTC"}, "already has a time zone"),
        ({"chat_model": 1}, "chat_model"),
        ({"embedding_model": 1}, "embedding_model"),
        ({"working_dir": 5}, "`working_dir` is no path"),
    ],
)
def test_what_does_not_fit_is_refused_at_once(
    tmp_path: Path, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(BadInput, match=said):
        VectorReMe(**{"working_dir": tmp_path, **options})
    assert list(tmp_path.iterdir()) == []


def test_a_model_and_a_configuration_exclude_each_other(open_memory: Open) -> None:
    with pytest.raises(BadInput, match="`chat_model` is given as well"):
        open_memory(default_llm_config=LLM, chat_model=ScriptedChatModel([]))
    with pytest.raises(BadInput, match="`embedding_model` is given as well"):
        open_memory(default_embedding_model_config=EMBEDDING)


async def test_nothing_named_is_no_model(tmp_path: Path) -> None:
    async with VectorReMe(tmp_path, settings=Settings(fsync=False)) as reme:
        await reme.add_memory("likes tea", "alice")
        assert "likes tea" in await reme.retrieve_memory("tea", user_name="alice")
        done = await reme.summarize_memory(COFFEE, user_name="alice", return_dict=True)
        assert done["pending"] == 1


async def test_a_named_model_without_a_key_is_no_model_and_that_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("WARNING", "agentscope_reme")
    async with VectorReMe(
        tmp_path, default_llm_config=LLM, default_embedding_model_config=EMBEDDING
    ) as reme:
        done = await reme.summarize_memory(COFFEE, user_name="alice", return_dict=True)
        assert (done["pending"], done["failed"]) == (1, [])
        await reme.add_memory("likes tea", "alice")
        assert "likes tea" in await reme.retrieve_memory("tea", user_name="alice")
        status = await reme.status()
        assert (status.failures, status.vectors_pending) == ({}, 0)
    [chat, embedding] = [record.getMessage() for record in caplog.records]
    assert "'qwen3.5-plus' is not asked" in chat
    assert "REME_LLM_API_KEY" in chat
    assert "'text-embedding-v4' is not asked" in embedding
    assert "REME_EMBEDDING_API_KEY" in embedding


@pytest.mark.parametrize("where", ["configuration", "argument", "environment"])
async def test_a_server_of_ones_own_is_asked_without_a_key(
    where: str, tmp_path: Path, provider: LoopbackProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    llm: dict[str, Any] = dict(LLM)
    embedding: dict[str, Any] = dict(EMBEDDING)
    options: dict[str, Any] = {}
    url = provider.openai_url
    if where == "configuration":
        llm, embedding = {**llm, "base_url": url}, {**embedding, "base_url": url}
    elif where == "argument":
        options = {"llm_base_url": url, "embedding_base_url": url}
    else:
        monkeypatch.setenv("REME_LLM_BASE_URL", url)
        monkeypatch.setenv("REME_EMBEDDING_BASE_URL", url)
    reme = VectorReMe(
        tmp_path,
        default_llm_config=llm,
        default_embedding_model_config=embedding,
        settings=Settings(fsync=False),
        **options,
    )
    await story(reme, provider)
