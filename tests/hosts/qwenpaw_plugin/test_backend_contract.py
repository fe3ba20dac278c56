"""The plug-in inside QwenPaw's own loader and registry: the contract of a memory backend."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from agentscope.message import AssistantMsg, Msg, ToolResultState, UserMsg
from qwenpaw.app import agent_context
from qwenpaw.memory import BaseMemoryManager, MemoryBackendContext, memory_registry
from qwenpaw.plugins.loader import PluginLoader
from qwenpaw.providers import ProviderManager
from qwenpaw.providers.provider import ModelInfo, ProviderInfo

from tests.hosts.conftest import EXAMPLES
from tests.hosts.host_provider import MODEL, HostProvider, writes_cards
from tests.loopback import Reply

pytestmark = pytest.mark.hosts

FACT = "Nadia Okafor keeps the zebra vault runbook."
QUESTION = "Who keeps the zebra vault runbook?"


@pytest_asyncio.fixture
async def loaded() -> str:
    """The backend id, as QwenPaw's loader found it on disk; no model is chosen yet."""
    ProviderManager.get_instance().active_model = None  # by default an outside one
    await PluginLoader([EXAMPLES]).load_all_plugins(types=["memory"])
    return "agentscope_reme"


@contextmanager
def speaking(user: str, channel: str = "console") -> Iterator[None]:
    """What QwenPaw sets for every request."""
    agent_context.set_current_user_id(user)
    agent_context.set_current_channel(channel)
    yield
    agent_context.set_current_user_id(None)
    agent_context.set_current_channel(None)


def context_of(home: Path, agent_id: str = "default", **config: Any) -> MemoryBackendContext:
    return MemoryBackendContext(
        agent_id=agent_id,
        working_dir=home / "workspaces" / agent_id,
        host_working_dir=home,
        backend_config=config,
        language="en",
    )


@pytest_asyncio.fixture
async def manager(loaded: str, tmp_path: Path) -> AsyncIterator[BaseMemoryManager]:
    made = memory_registry.create(loaded, context_of(tmp_path))
    await made.start()
    yield made
    assert await made.close()


def turn(text: str = FACT) -> list[Msg]:
    return [UserMsg("user", text), AssistantMsg("Default", "Noted.")]


async def settled(manager: BaseMemoryManager) -> list[dict[str, Any]]:
    """The queue's tasks, once all of them have ended."""
    await manager._auto_memory_task_queue.join()
    return manager.list_auto_memory_tasks()


def text_of(chunk: Any) -> str:
    return "\n".join(block.text for block in chunk.content)


def test_the_loader_registers_the_backend_with_its_settings(loaded: str) -> None:
    found = memory_registry.get_registration(loaded)
    assert found is not None
    assert found.plugin_id == "agentscope-reme"
    assert issubclass(found.factory, BaseMemoryManager)
    assert "workspace_dir" in found.config_schema.model_fields


def test_a_mistyped_setting_is_refused(loaded: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="workspace_dri"):
        memory_registry.create(loaded, context_of(tmp_path, workspace_dri="x"))


async def test_without_a_model_a_turn_is_saved_pending_and_found(
    manager: BaseMemoryManager,
) -> None:
    with speaking("anna"):
        manager.submit_auto_memory(turn(), trigger="periodic", session_id="s")
        [task] = await settled(manager)
        found = await manager.memory_search(QUESTION)
        status = await manager.run_action("status")  # type: ignore[attr-defined]
    assert task["status"] == "completed"
    assert task["result"] == "2 new messages saved; they wait until QwenPaw has a model."
    assert found.state == ToolResultState.SUCCESS
    assert FACT in text_of(found)
    assert "1 session(s) waiting to be distilled" in status.answer


async def test_recall_comes_in_the_form_qwenpaw_injects_and_is_never_recorded(
    manager: BaseMemoryManager,
) -> None:
    with speaking("anna"):
        await manager.auto_memory(turn(), session_id="s")
        question = UserMsg(
            "user", "Before anything else, and taking all the time it needs: " + QUESTION
        )
        recalled = await manager.auto_memory_search(question, agent_name="Default")
        assert recalled is not None
        assert FACT in recalled["text"]
        again = [*recalled["msg"], AssistantMsg("Default", "It is Nadia Okafor.")]
        assert (await manager.auto_memory(again, session_id="s")).startswith("2 new messages")
        assert await manager.auto_memory_search(UserMsg("user", "Xylophone quartz?")) is None


async def test_people_channels_and_agents_never_see_each_other(
    manager: BaseMemoryManager, loaded: str, tmp_path: Path
) -> None:
    other = memory_registry.create(loaded, context_of(tmp_path, "other"))
    await other.start()
    with speaking("anna"):
        await manager.auto_memory(turn(), session_id="s")
        assert FACT not in text_of(await other.memory_search(QUESTION))
    for user, channel in (("ben", "console"), ("anna", "telegram"), ("../anna", "console")):
        with speaking(user, channel):
            assert FACT not in text_of(await manager.memory_search(QUESTION))
            assert await manager.auto_memory_search(UserMsg("user", QUESTION)) is None
            [read] = [t for t in manager.list_memory_tools() if t.__name__ == "memory_read"]
            stolen = await read(path="../console%3Aanna/session/dialog/s.jsonl")
            assert stolen.state == ToolResultState.ERROR
    assert FACT not in text_of(await manager.memory_search(QUESTION))  # outside any request
    assert await other.close()


@pytest.mark.parametrize("user", ["..", "../anna", "a/../b", "", "x" * 5000, "a\\b", "李雷", "%2F"])
async def test_any_user_id_has_a_memory_of_its_own(manager: BaseMemoryManager, user: str) -> None:
    with speaking(user):
        await manager.auto_memory(turn(), session_id="s")
        assert FACT in text_of(await manager.memory_search(QUESTION))
    with speaking("anna"):
        assert FACT not in text_of(await manager.memory_search(QUESTION))


async def test_turns_of_two_people_in_one_queue_reach_their_own_memories(
    manager: BaseMemoryManager,
) -> None:
    for user in ("anna", "ben"):  # the worker starts, and keeps running, in anna's context
        with speaking(user):
            manager.submit_auto_memory(turn(f"{user} likes {user}-tea."), session_id=user)
    await settled(manager)
    for user, other in (("anna", "ben"), ("ben", "anna")):
        with speaking(user):
            found = text_of(await manager.memory_search("tea"))
        assert f"{user}-tea" in found
        assert f"{other}-tea" not in found


async def test_one_person_on_two_channels_can_share_a_memory(loaded: str, tmp_path: Path) -> None:
    people = {"telegram:4711": "console:anna"}
    manager = memory_registry.create(loaded, context_of(tmp_path, people=people))
    await manager.start()
    with speaking("anna"):
        await manager.auto_memory(turn(), session_id="s")
    with speaking("4711", "telegram"):
        assert FACT in text_of(await manager.memory_search(QUESTION))
    assert await manager.close()


async def test_only_so_many_memories_stay_open_and_none_is_lost(
    loaded: str, tmp_path: Path
) -> None:
    manager = memory_registry.create(loaded, context_of(tmp_path, most_open=1))
    await manager.start()
    names = [f"person-{number}" for number in range(6)]

    async def tell(name: str) -> None:
        with speaking(name):
            await manager.auto_memory(turn(f"{name} keeps bees."), session_id="s")

    await asyncio.gather(*(asyncio.create_task(tell(name)) for name in names))
    for name in names:
        with speaking(name):
            assert f"{name} keeps bees." in text_of(await manager.memory_search("bees"))
    assert await manager.close()


async def test_a_reload_overlaps_two_managers_of_one_agent(
    manager: BaseMemoryManager, loaded: str, tmp_path: Path
) -> None:
    with speaking("anna"):
        await manager.auto_memory(turn(), session_id="s")
        successor = memory_registry.create(loaded, context_of(tmp_path, turns_per_card=2))
        await successor.start()
        manager.submit_auto_memory(turn("The spare key hangs in the shed."), session_id="s")
        await settled(manager)
        found = text_of(await successor.memory_search("Where does the spare key hang?"))
        assert "The spare key hangs in the shed." in found
        assert await successor.close()


async def test_closing_keeps_what_was_handed_over_a_moment_before(
    loaded: str, tmp_path: Path
) -> None:
    manager = memory_registry.create(loaded, context_of(tmp_path))
    await manager.start()
    with speaking("anna"):
        manager.submit_auto_memory(turn(), session_id="s")
        assert await manager.close()
        with pytest.raises(RuntimeError, match="closing"):
            manager.submit_auto_memory(turn(), session_id="s")
        after = memory_registry.create(loaded, context_of(tmp_path))
        await after.start()
        assert FACT in text_of(await after.memory_search(QUESTION))
        assert await after.close()


@pytest_asyncio.fixture
async def provider() -> AsyncIterator[HostProvider]:
    """The model that is chosen in QwenPaw."""
    models = ProviderManager.get_instance()
    with HostProvider() as running:
        await models.add_custom_provider(
            ProviderInfo(
                id="loopback",
                name="Loopback",
                base_url=running.openai_url,
                api_key="sk-loopback",
                # Else QwenPaw shows the model pictures to find out.
                extra_models=[ModelInfo(id=MODEL, name=MODEL, supports_multimodal=False)],
            )
        )
        await models.activate_model("loopback", MODEL)
        yield running
    await models.remove_custom_provider_async("loopback")
    models.active_model = None


async def test_qwenpaws_own_model_writes_the_card(
    manager: BaseMemoryManager, provider: HostProvider
) -> None:
    provider.respond_with(writes_cards("Zebra vault", FACT))
    with speaking("anna"):
        said = await manager.auto_memory(turn(), session_id="s")
        found = text_of(await manager.memory_search(QUESTION))
    assert "zebra-vault.md" in said
    assert "zebra-vault.md:" in found
    assert {request.model for request in provider.chats} == {MODEL}


async def test_a_model_that_hangs_costs_no_turn_and_delays_closing_for_seconds_only(
    loaded: str, tmp_path: Path, provider: HostProvider
) -> None:
    gate = threading.Event()
    provider.respond_with(lambda _: Reply(text="done", delay_until=gate))
    manager: Any = memory_registry.create(loaded, context_of(tmp_path))
    await manager.start()
    with speaking("anna"):
        manager.submit_auto_memory(turn("The first."), trigger="new", session_id="s")
        await asyncio.gather(*manager._saving)
        manager.submit_auto_memory(turn("The second."), trigger="periodic", session_id="s")
        await asyncio.gather(*manager._saving)
        assert "The second." in text_of(await manager.memory_search("second"))
        async with asyncio.timeout(30):
            assert await manager.close()
        gate.set()
        after: Any = memory_registry.create(loaded, context_of(tmp_path))
        await after.start()
        assert "The first." in text_of(await after.memory_search("first"))
        assert "1 session(s) waiting" in (await after.run_action("status")).answer
        assert await after.close()


async def test_the_nightly_job_goes_on_when_one_persons_dream_fails(
    manager: Any, provider: HostProvider
) -> None:
    provider.respond_with(writes_cards("Zebra vault", FACT))
    for user in ("anna", "ben"):
        with speaking(user):
            await manager.auto_memory(turn(), session_id="s")
    provider.respond_with(lambda _: Reply(status=400, message="out of order"))
    before = len(provider.chats)
    [job] = manager.list_cron_jobs()
    assert job.cron == "0 23 * * *"
    await job.callback()
    assert len(provider.chats) >= before + 2
    for user in ("anna", "ben"):
        with speaking(user):
            assert "zebra-vault.md" in text_of(await manager.memory_search(QUESTION))
            status = await manager.run_action("status")
            assert "auto_dream: failed" in status.answer


async def test_every_action_of_the_chat_answers_for_the_person_who_asks(
    manager: Any, provider: HostProvider
) -> None:
    card = writes_cards("Zebra vault", FACT)
    provider.respond_with(lambda asked: card(asked) or Reply(structured={"units": []}))
    with speaking("anna"):
        manager.submit_auto_memory(turn(), trigger="periodic", session_id="s")
        await settled(manager)
        offered = await manager.list_actions()
        arguments = {"search": {"query": "zebra vault"}}
        answers = {
            name: await manager.run_action(name, **arguments.get(name, {})) for name in offered
        }
        assert all(answer.success for answer in answers.values())
        assert "zebra-vault.md" in (await manager.run_action("search", query="zebra")).answer
    with speaking("ben"):
        assert "zebra" not in (await manager.run_action("search", query="zebra")).answer
        with pytest.raises(ValueError, match="explode"):
            await manager.run_action("explode")


def test_the_agent_is_told_about_its_memory_in_its_language(
    loaded: str, manager: BaseMemoryManager, tmp_path: Path
) -> None:
    assert "`memory_search`" in manager.get_memory_prompt()
    assert [tool.__name__ for tool in manager.list_memory_tools()] == [
        "memory_search",
        "memory_read",
    ]
    chinese = MemoryBackendContext("default", tmp_path, tmp_path, {}, language="zh")
    assert "长期记忆" in memory_registry.create(loaded, chinese).get_memory_prompt()
