"""The calls of the documented example, in their order, and what each of them promises."""

from __future__ import annotations

import json

from agentscope.message import Msg, ToolResultBlock, ToolUseBlock

from agentscope_reme.agentscope_v1 import ReMeToolkit
from agentscope_reme.testing import ScriptedChatModel, ToolCall
from tests.copaw.conftest import TODAY, Open

CHECKPOINT = "## Goal\nAn importer.\n\n## Progress\nBegun.\n\n## Next Steps\n1. Tests."


def conversation() -> list[Msg]:
    call = ToolUseBlock(type="tool_use", id="1", name="shell", input={"command": "pytest"})
    result = ToolResultBlock(type="tool_result", id="1", name="shell", output="log line\n" * 5000)
    return [
        Msg("user", "I prefer Python 3.12. Run the tests.", "user"),
        Msg("Friday", [call], "assistant"),
        Msg("system", [result], "system"),
        Msg("Friday", "They pass.", "assistant"),
    ]


async def test_the_example_of_the_document(open_copaw: Open) -> None:
    note = {"path": TODAY, "content": "# Notes\n\n- The user prefers Python 3.12.\n"}
    model = ScriptedChatModel([CHECKPOINT, ToolCall("write", note), "Noted."])
    reme = open_copaw(model, language="zh", tool_result_threshold=1000, retention_days=7)
    await reme.start()
    messages = conversation()

    messages = await reme.compact_tool_result(messages)
    summary = await reme.compact_memory(messages=messages, previous_summary="")
    reme.add_async_summary_task(messages=messages)
    await reme.await_summary_tasks()
    result = await reme.memory_search(query="Python version preference", max_results=5)
    memory = reme.get_in_memory_memory()
    token_stats = await memory.estimate_tokens()
    await reme.await_summary_tasks()
    closed = await reme.close()

    assert sum(len(str(msg.content)) for msg in messages) < 3000
    assert summary == CHECKPOINT
    (hit,) = json.loads(result.content[0]["text"])
    assert "Python 3.12" in hit["snippet"]
    assert f"{token_stats['context_usage_ratio']:.1f}%" == "0.0%"
    assert closed is True
    assert len(list(reme.tool_result_path.iterdir())) == 1
    assert "log line" * 10 not in "".join(request.text for request in model.requests)


async def test_an_agent_writes_memory_files_and_reads_everything(open_copaw: Open) -> None:
    async with open_copaw() as copaw:
        await copaw._memory.write("daily/2026-06-20/card.md", "a heron")
        tools = {tool.name: tool for tool in copaw.tools()}
        assert set(ReMeToolkit(copaw).tools) == set(tools)
        write = tools["write"].call
        for path in ("MEMORY.md", "memory/2026-06-20.md", "memory/topics/tea.md"):
            assert (await write({"path": path, "content": "tea"})).success
        for path in ("daily/2026-06-20/card.md", "digest/wiki/x.md", "AGENTS.md", "resource/x.md"):
            refused = await write({"path": path, "content": "tea"})
            assert not refused.success
            assert "`MEMORY.md`, `memory/`" in refused.text
        assert "heron" in (await tools["read"].call({"path": "daily/2026-06-20/card.md"})).text
        assert "tea" in (await tools["memory_search"].call({"query": "tea"})).text


async def test_recorded_turns_wait_until_the_host_has_set_a_model(open_copaw: Open) -> None:
    async with open_copaw(None) as copaw:
        result = await copaw.auto_memory(conversation(), session_id="monday")
        assert (result.success, result.pending) == (False, True)
        assert (await copaw.status()).pending_sessions == ["monday"]
        card = {"name": "python", "description": "The version.", "content": "Python 3.12."}
        copaw.chat_model = ScriptedChatModel([ToolCall("daily_write", card), "Done."])
        assert (await copaw.auto_memory(session_id="monday")).created
        assert (await copaw.recall("Which Python?")).evidence
