"""Constructor, attributes and environment are as the document says, and touch nothing else."""

from __future__ import annotations

import inspect
import logging
import os
from pathlib import Path
from typing import Any

import pytest
from agentscope.tool import Toolkit

from agentscope_reme import ReMeCopaw
from agentscope_reme.copaw import stores
from agentscope_reme.copaw.environment import DEFAULT_BASE_URL, CopawEnvironment, read_environment
from agentscope_reme.errors import BadInput, StorageFailed
from agentscope_reme.messages import Message
from agentscope_reme.ports import MemoryService
from agentscope_reme.settings import Settings
from agentscope_reme.store.local_store import LocalFileStore
from agentscope_reme.workspace import Workspace
from tests.copaw.conftest import Open


def test_the_constructor_has_the_documented_arguments_and_defaults() -> None:
    signature = inspect.signature(ReMeCopaw)
    documented = {
        name: p.default for name, p in signature.parameters.items() if p.kind != p.KEYWORD_ONLY
    }
    required = (
        *("working_dir", "chat_model", "formatter", "token_counter", "toolkit"),
        *("max_input_length", "memory_compact_ratio"),
    )
    assert documented == {
        **dict.fromkeys(required, inspect.Parameter.empty),
        "language": "zh",
        "vector_weight": 0.7,
        "candidate_multiplier": 3.0,
        "tool_result_threshold": 1000,
        "retention_days": 7,
    }


def test_a_manager_may_inherit_from_it(tmp_path: Path) -> None:
    class MemoryManager(ReMeCopaw):
        def __init__(self, working_dir: str, **given: Any) -> None:
            super().__init__(working_dir, language="en", **given)

    manager = MemoryManager(
        str(tmp_path / "copaw"),
        chat_model=None,
        formatter=None,
        token_counter=None,
        toolkit=None,
        max_input_length=131_072,
        memory_compact_ratio=0.7,
    )
    assert isinstance(manager, MemoryService)
    assert manager.language == ""


def test_the_folders_are_there_and_named(tmp_path: Path, open_copaw: Open) -> None:
    copaw = open_copaw()
    root = tmp_path / "work"
    assert copaw.working_path == root
    assert copaw.memory_path == root / "memory"
    assert copaw.tool_result_path == root / "tool_result"
    assert copaw.memory_path.is_dir()
    assert copaw.tool_result_path.is_dir()


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path, open_copaw: Open) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "memory").write_text("a file")
    with pytest.raises(StorageFailed, match="cannot be made"):
        open_copaw()


def test_the_threshold_is_nine_tenths_of_what_may_be_full(open_copaw: Open) -> None:
    copaw = open_copaw()
    assert copaw.memory_compact_threshold == 80_640
    copaw.update_params(max_input_length=10_000, memory_compact_ratio=0.5, language="zh")
    assert (copaw.max_input_length, copaw.memory_compact_threshold) == (10_000, 4_500)
    assert copaw.language == "zh"
    assert copaw.settings.memory_compact_threshold == 4_500


def test_what_hosts_overwrite_is_used_by_the_next_call(open_copaw: Open) -> None:
    copaw = open_copaw(None)
    copaw.chat_model = copaw.formatter = copaw.toolkit = Toolkit()
    copaw.memory_compact_threshold = 77
    copaw.max_input_length = 88
    copaw.token_counter = object()
    copaw.summary_tasks = []
    assert copaw.settings.memory_compact_threshold == 77
    memory = copaw.get_in_memory_memory()
    assert (memory.max_input_length, memory.token_counter) == (88, copaw.token_counter)


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_input_length": 0},
        {"memory_compact_ratio": 1.5},
        {"memory_compact_ratio": "0.7"},
        {"vector_weight": -0.1},
        {"candidate_multiplier": 0},
        {"tool_result_threshold": 0},
        {"retention_days": -1},
    ],
)
def test_numbers_that_cannot_be_meant_are_refused(open_copaw: Open, wrong: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="must be a number"):
        open_copaw(**wrong)


DEFAULTS = ("", DEFAULT_BASE_URL, "", 1024, True, 2000, 8192, 10)


def test_without_variables_the_documented_defaults_hold(open_copaw: Open) -> None:
    assert open_copaw().get_emb_envs() == DEFAULTS
    assert read_environment({}) == CopawEnvironment()


def test_every_variable_is_read(monkeypatch: pytest.MonkeyPatch, open_copaw: Open) -> None:
    given = ("key", "http://127.0.0.1:1/v1", "m", "64", "false", "9", "100", "3")
    names = ("API_KEY", "BASE_URL", "MODEL_NAME", "DIMENSIONS", "CACHE_ENABLED", "MAX_CACHE_SIZE")
    for name, value in zip((*names, "MAX_INPUT_LENGTH", "MAX_BATCH_SIZE"), given, strict=True):
        monkeypatch.setenv(f"EMBEDDING_{name}", value)
    copaw = open_copaw()
    assert copaw.get_emb_envs() == (*given[:3], 64, False, 9, 100, 3)
    assert copaw._memory.settings.embedding_cache_vectors == 0  # nor is one kept on the disk


@pytest.mark.parametrize(
    "given",
    [
        {"EMBEDDING_DIMENSIONS": "many"},
        {"EMBEDDING_MAX_BATCH_SIZE": "0"},
        {"EMBEDDING_CACHE_ENABLED": "perhaps"},
        {"MEMORY_STORE_BACKEND": "sqlite3"},
        {"FTS_ENABLED": "false"},
        {"FTS_ENABLED": "false", "EMBEDDING_API_KEY": "a key alone"},
    ],
)
def test_a_variable_that_cannot_be_meant_is_refused(given: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=next(iter(given))):
        read_environment(given)


async def test_the_environment_and_the_hosts_logging_stay_as_they_are(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, open_copaw: Open
) -> None:
    monkeypatch.setenv("EMBEDDING_API_KEY", "one")
    monkeypatch.chdir(tmp_path)
    before = dict(os.environ), list(logging.getLogger().handlers), logging.getLogger().level
    copaw = open_copaw()
    monkeypatch.setenv("EMBEDDING_API_KEY", "two")
    async with copaw, open_copaw() as other:
        assert (copaw.get_emb_envs()[0], other.get_emb_envs()[0]) == ("one", "two")
        notices = (await copaw.status()).notices
    assert "EMBEDDING_MODEL_NAME is not set: there are no vectors." in notices
    monkeypatch.setenv("EMBEDDING_API_KEY", "one")
    assert (
        dict(os.environ),
        list(logging.getLogger().handlers),
        logging.getLogger().level,
    ) == before
    assert os.listdir(tmp_path) == ["work"]


async def test_the_store_in_use_is_said(open_copaw: Open) -> None:
    async with open_copaw() as copaw:
        status = await copaw.status()
        assert status.notices.count("Store: local (local).") == 1
        assert status.answer.count("Store: local (local).") == 1


@pytest.mark.parametrize(
    ("platform", "installed", "usable"),
    [("linux", True, True), ("win32", True, False), ("linux", False, False)],
)
def test_auto_means_chroma_where_it_can_be_used(
    monkeypatch: pytest.MonkeyPatch, platform: str, installed: bool, usable: bool
) -> None:
    monkeypatch.setattr(stores.sys, "platform", platform)
    monkeypatch.setattr(stores, "find_spec", lambda name: object() if installed else None)
    assert stores.chroma_is_usable() is usable


def test_auto_without_chroma_is_the_local_store(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(stores, "chroma_is_usable", lambda: False)
    store, said = stores.store_of("auto", Workspace(tmp_path), Settings())
    assert type(store) is LocalFileStore
    assert said == "Store: local (auto)."


def test_chroma_by_name_without_chroma_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from agentscope_reme.store import chroma_store

    monkeypatch.setattr(chroma_store, "find_spec", lambda name: None)
    with pytest.raises(BadInput, match=r"agentscope-reme\[chroma\]"):
        stores.store_of("chroma", Workspace(tmp_path), Settings())


def test_the_guide_names_every_call_and_every_variable() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "copaw.md").read_text("utf-8")
    service = {name for name in dir(MemoryService) if not name.startswith("_")}
    service |= {"offload_tool_results", "prompt_language", "get_emb_envs"}
    calls = {name for name, _ in inspect.getmembers(ReMeCopaw, inspect.isfunction)}
    own = {name for name in calls if not name.startswith("_")} - service
    assert {name for name in own if f"`{name}(" not in guide} == set()
    variables = [
        f"EMBEDDING_{part}" for part in ("API_KEY", "BASE_URL", "MODEL_NAME", "DIMENSIONS")
    ]
    variables += ["EMBEDDING_CACHE_ENABLED", "EMBEDDING_MAX_CACHE_SIZE", "FTS_ENABLED"]
    for variable in (*variables, "EMBEDDING_MAX_INPUT_LENGTH", "MEMORY_STORE_BACKEND"):
        assert f"`{variable}`" in guide


async def test_a_call_before_the_start_opens_it_and_the_start_still_goes_on_with_summaries(
    open_copaw: Open,
) -> None:
    open_copaw(None)._queue._pending.add([Message.from_dict({"role": "user", "content": "hi"})])
    copaw = open_copaw(["[SILENT]"])
    assert (await copaw.memory_search("tea")).content[0]["text"] == "[]"
    await copaw.start()
    assert await copaw.await_summary_tasks() == "Summary task completed: [SILENT]"
    assert await copaw.close() is True


async def test_open_and_closed(open_copaw: Open) -> None:
    copaw = open_copaw()
    assert await copaw.close() is True
    assert await copaw.start() is copaw
    assert await copaw.start() is copaw
    assert await copaw.close() is True
    assert await copaw.close() is True
    await copaw.start()
    assert await copaw.close() is True


async def test_a_folder_that_cannot_be_written_any_more_still_closes(open_copaw: Open) -> None:
    copaw = await open_copaw().start()
    (marker,) = (copaw.working_path / "metadata").glob("open-*")
    marker.unlink()
    marker.mkdir()  # as good as a folder without permissions: it cannot be removed as a file
    assert await copaw.close() is True
    async with open_copaw() as again:
        assert (await again.status()).failures == {}
