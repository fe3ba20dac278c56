"""What goes wrong in the background while a person types is told, and ends no conversation."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from agentscope_reme.chat.memory import ChatMemory, Saving
from agentscope_reme.chat.terminal import Terminal
from agentscope_reme.configuration import load
from agentscope_reme.errors import StorageFailed
from tests.chat.conftest import Begin
from tests.chat.talk import noting
from tests.loopback import LoopbackProvider, Reply

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pipes of a terminal are of Unix")


async def test_savings_that_cannot_be_told_are_told_as_a_fault(
    begin: Begin,
    provider: LoopbackProvider,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    provider.respond_with(lambda _: Reply(status=400, message="asleep"))
    talk = await begin()
    talk.assistant.memory.add_async_summary_task([{"role": "user", "content": "Oslo in May"}])
    await talk.saved()
    await talk.close()  # its saving waits for the next start
    provider.respond_with(noting(note="- Oslo in May"))

    faults = [StorageFailed("journal", "the disk is gone", "Mount it.")]
    asked = [asyncio.Event(), asyncio.Event()]
    savings, seen = ChatMemory.savings, iter(asked)

    async def failing_once(memory: ChatMemory) -> list[Saving]:
        event = next(seen, None)
        if event is not None:
            event.set()
        if faults:
            raise faults.pop()
        return await savings(memory)

    monkeypatch.setattr(ChatMemory, "savings", failing_once)
    configuration = load(
        {"workspace_dir": str(tmp_path / ".reme"), "config": "cli"},
        environ={"REME_LLM_API_KEY": "k", "REME_LLM_BASE_URL": provider.openai_url},
        folder=tmp_path,
    )
    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        talking = asyncio.create_task(Terminal(configuration, tmp_path).run())
        await asked[0].wait()
        keys.send_text("\r")  # the next prompt
        await asked[1].wait()
        keys.send_text("/exit\r")
        assert await talking == 0
    shown = capsys.readouterr().out
    assert "StorageFailed: 'journal': the disk is gone. Mount it." in shown
    assert "memory/" in shown[shown.index("Mount it.") :]  # and the saving is told after all
