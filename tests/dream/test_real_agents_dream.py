"""AgentScope's own agents, models and formatters dream, over a real socket, on either line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agentscope_reme import ReMe
from agentscope_reme.testing import FakeClock, ScriptedChatModel
from agentscope_reme.testing import Request as Asked
from agentscope_reme.testing import ToolCall as Call
from tests.dream.conftest import documents, note
from tests.images.models import openai
from tests.loopback import LoopbackProvider, Reply, Request, ToolCall
from tests.loopback.fixtures import provider

__all__ = ["provider"]

streaming = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])

DAY = "2026-06-20"
CARD = f"daily/{DAY}/talk.md"
NODE = "digest/personal/tea.md"
UNITS = {
    "units": [
        {"name": "Tea", "summary": "Drinks green tea.", "bucket": "personal", "paths": [CARD]}
    ],
    "topics": [{"title": "Tea ceremonies", "reason": "asked", "paths": [CARD]}],
}
CONTENT = f"# Tea\n\n- Drinks green tea.\n\n## Sources\n\n- [[{CARD}]]\n"
WRITE = {"path": NODE, "name": "Tea", "description": "Which tea.", "content": CONTENT}


def receipt(action: str) -> dict[str, str]:
    return {"action": action, "target_path": NODE, "note": "done"}


@streaming
async def test_a_dream_over_a_real_socket(
    open_memory: Callable[..., ReMe], provider: LoopbackProvider, stream: bool
) -> None:
    def answer(request: Request) -> Reply:
        if "You read daily notes" in "\n".join(request.texts):
            return Reply(structured=UNITS)
        steps = [
            Reply(tool_calls=(ToolCall("node_search", {"query": "tea"}),)),
            Reply(tool_calls=(ToolCall("write", WRITE),)),
        ]
        done = sum(message["role"] == "tool" for message in request.messages)
        if done < len(steps):
            return steps[done]
        if request.structured_function is None:
            return Reply("Created the node.")
        return Reply(structured=receipt("CREATE"))

    provider.respond_with(answer)
    async with open_memory(openai(provider, stream=stream)) as reme:
        await note(reme, DAY, "talk", "Drinks green tea.")
        result = await reme.auto_dream()
        text = documents(reme)[NODE].decode()
    assert result.success, result.answer
    assert [(i.unit, i.action, i.target_path) for i in result.integrated] == [
        ("Tea", "CREATE", NODE)
    ]
    assert "- Drinks green tea. (observed 2026-06-20)" in text
    assert [topic.title for topic in result.topics] == ["Tea ceremonies"]
    assert result.agent_runs == 2
    first = provider.requests[0]
    assert first.texts[0].startswith("You look after the long-term memory of one person.")
    assert f'<card path="{CARD}">' in first.texts[-1]
    offered = set(provider.requests[1].tool_names)
    tools = {"node_search", "read", "write", "edit", "frontmatter_read", "frontmatter_update"}
    assert offered >= tools
    assert not offered & {"delete", "move", "daily_write", "memory_search"}


def receipt_when_asked(action: str) -> Callable[[Asked], Any]:
    """The receipt as soon as one is wanted: some releases ask inside the run, others after it."""

    def step(request: Asked) -> Any:
        asked = any("generate" in name.casefold() for name in request.tool_names)
        return receipt(action) if asked or request.output is not None else "Done."

    return step


async def test_a_refused_change_goes_back_to_the_agent_in_words(
    open_memory: Callable[..., ReMe], clock: FakeClock
) -> None:
    settled = [receipt_when_asked("CREATE")] * 2
    first = ScriptedChatModel([UNITS, Call("write", WRITE), *settled])
    async with open_memory(first) as reme:
        await note(reme, DAY, "talk", "Drinks green tea.")
        assert (await reme.auto_dream()).success
    clock.advance(days=1)
    card = "daily/2026-06-21/news.md"
    units = {"units": [{**UNITS["units"][0], "summary": "Drinks black tea.", "paths": [card]}]}
    silent = Call("edit", {"path": NODE, "old": "green", "new": "black"})
    model = ScriptedChatModel([units, silent, *[receipt_when_asked("REFINE")] * 4])
    mended = [
        Call(
            "edit",
            {
                "path": NODE,
                "old": "- Drinks green tea. (observed 2026-06-20)",
                "new": "- Drinks green tea. (observed 2026-06-20, until)\n- Drinks black tea.",
            },
        ),
        Call("edit", {"path": NODE, "old": "## Sources\n", "new": f"## Sources\n\n- [[{card}]]\n"}),
    ]
    async with open_memory(model) as reme:
        await note(reme, "2026-06-21", "news", "Drinks black tea.")
        before = documents(reme)[NODE]
        result = await reme.auto_dream()
        assert not result.success
        assert documents(reme)[NODE] == before
        second = next(r for r in model.requests if "was refused" in r.text)
        assert "says something else now" in second.text
        assert f"[[{card}]]" in second.text
    again = ScriptedChatModel([mended, *[receipt_when_asked("CORRECT")] * 2])
    async with open_memory(again) as reme:
        result = await reme.auto_dream()
        text = documents(reme)[NODE].decode()
    assert result.success, result.answer
    assert "- Drinks green tea. (observed 2026-06-20, until 2026-06-21)" in text
    assert "- Drinks black tea. (observed 2026-06-21)" in text
