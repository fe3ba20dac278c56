"""A long conversation with tools, over HTTP: what the provider is sent stays small and valid."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from agentscope.agent import ReActAgent
from agentscope.formatter import OpenAIChatFormatter
from agentscope.memory import InMemoryMemory
from agentscope.message import Msg, TextBlock
from agentscope.model import OpenAIChatModel
from agentscope.tool import Toolkit, ToolResponse

from agentscope_reme import ReMe, Settings
from agentscope_reme.context import estimate_tokens
from tests.loopback.script import Reply, Request, ToolCall
from tests.loopback.server import LoopbackProvider
from tests.window.parts import CHECKPOINT
from tests.window.test_random_histories_lose_nothing import assert_a_provider_takes

THRESHOLD = 2_500
ROUNDS = 20
LOG = "a line of the log of the build, as builds write them\n" * 400


def model(provider: LoopbackProvider, *, stream: bool) -> OpenAIChatModel:
    arguments: dict[str, Any] = {"base_url": provider.openai_url, "max_retries": 0}
    return OpenAIChatModel("gpt", api_key="k", stream=stream, client_kwargs=arguments)


async def build(target: str, verbose: bool = False) -> ToolResponse:
    """Build a target.

    Args:
        target: what to build.
        verbose: say everything.
    """
    text = LOG if verbose else "built"
    return ToolResponse(content=[TextBlock(type="text", text=f"{target}: {text} END-{target}")])


def writes_a_checkpoint(request: Request) -> bool:
    return request.texts[0].startswith("You write checkpoints")


def told(request: Request) -> Reply:
    """Every turn takes two calls at once, then an answer."""
    if writes_a_checkpoint(request):
        return Reply(text=CHECKPOINT)
    if "build" not in request.tool_names:
        return Reply(text="Nothing to record.")  # what is distilled in the background
    turn = sum("please build" in text for text in request.texts)
    if request.messages[-1]["role"] != "tool":
        name = request.texts[-1].rpartition(" ")[2]
        wanted = [{"target": f"{name}-a", "verbose": True}, {"target": f"{name}-b"}]
        return Reply(tool_calls=tuple(ToolCall("build", given) for given in wanted))
    return Reply(text=f"Both are built. {turn} " + "What else shall be done today? " * 10)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_every_prompt_stays_small_and_valid_and_nothing_is_lost(
    stream: bool, provider: LoopbackProvider, tmp_path: Path
) -> None:
    provider.respond_with(told)
    toolkit = Toolkit()
    toolkit.register_tool_function(build)
    quiet = Settings(
        watch=False, fsync=False, memory_compact_threshold=THRESHOLD, record_every_turns=1000
    )
    writer, speaker = model(provider, stream=False), model(provider, stream=stream)
    async with ReMe(
        tmp_path, chat_model=writer, formatter=OpenAIChatFormatter(), settings=quiet
    ) as reme:
        agent = ReActAgent(
            "Friday",
            "You build what is asked for.",
            speaker,
            OpenAIChatFormatter(),
            toolkit=toolkit,
            memory=InMemoryMemory() if stream else reme.memory(session_id="s"),
        )
        attached = reme.attach(agent, session_id="s", recall="off")
        for number in range(ROUNDS):
            reply = await agent(Msg("user", f"please build target-{number}", "user"))
            assert "Both are built." in str(reply.get_text_content())
        assert await attached.flush() == 0
        state = json.dumps(agent.memory.state_dict())
        assert "hook.compaction" not in (await reme.status()).failures
        attached.detach()

    for asked in (writer, speaker):
        await asked.client.close()
    prompts = [r for r in provider.chats if "build" in r.tool_names]
    assert len(prompts) == 2 * ROUNDS
    for request in prompts:
        assert_a_provider_takes(request.messages)
        assert estimate_tokens(json.dumps(request.body["messages"])) < THRESHOLD * 1.3
        assert sum(CHECKPOINT in text for text in request.texts) <= 1
    assert any(CHECKPOINT in text for text in prompts[-1].texts)
    assert f"please build target-{ROUNDS - 1}" in prompts[-1].texts
    archive = (tmp_path / "session/agentscope/s.jsonl").read_text()
    dialog = (tmp_path / "session/dialog/s.jsonl").read_text()
    files = "".join(place.read_text() for place in (tmp_path / "tool_result").iterdir())
    for number in range(ROUNDS):
        assert f"please build target-{number}" in dialog
        assert f"END-target-{number}-a" in archive + files + state
        assert f"END-target-{number}-b" in archive + state
