"""What AgentScope offloads is kept in the workspace, readable by the tools and found by search."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import agentscope.agent
import pytest
from agentscope.formatter import DeepSeekChatFormatter
from agentscope.message import (
    Base64Source,
    DataBlock,
    Msg,
    ToolResultBlock,
    URLSource,
    UserMsg,
)
from agentscope.workspace import Offloader

from agentscope_reme import ReMe, Settings
from agentscope_reme.agentscope_v2 import ReMeMemoryMiddleware, ReMeOffloader
from agentscope_reme.agentscope_v2.scripted import ScriptedChatModel
from agentscope_reme.errors import BadInput
from agentscope_reme.testing import ToolCall
from tests.agentscope_v2.agents import Weather, make_agent, user
from tests.agentscope_v2.memory_service import InMemoryService
from tests.agentscope_v2.test_compression import LONG, WINDOW, play

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(64)).decode()
LATER = hasattr(Offloader, "offload_data_block")
"""Whether this release of AgentScope offloads attachments."""


@pytest.fixture
async def reme(tmp_path: Path) -> AsyncIterator[ReMe]:
    async with ReMe(tmp_path / "memory", settings=Settings(watch=False, fsync=False)) as opened:
        yield opened


def config(**fields: Any) -> Any:
    return agentscope.agent.ContextConfig(**fields)


def picture(name: str | None = None, data: str = PNG) -> DataBlock:
    return DataBlock(source=Base64Source(data=data, media_type="image/png"), name=name)


async def found(reme: ReMe, words: str) -> list[str]:
    return [hit.path for hit in (await reme.search(words)).hits]


async def test_a_compressed_context_is_found(reme: ReMe) -> None:
    model = ScriptedChatModel(play(f"one {LONG}", "two"), context_size=WINDOW)
    agent = make_agent(model, offloader=ReMeOffloader(reme))
    await agent.reply(user(f"The axolotl sleeps. {LONG}"))
    await agent.reply(user(f"second {LONG}"))
    assert "'session/agentscope/s1.jsonl'" in str(agent.state.summary)
    assert "session/agentscope/s1.jsonl" in await found(reme, "axolotl")


async def test_beside_the_middleware_nothing_is_archived_twice(reme: ReMe) -> None:
    steps = [ToolCall("weather", {"city": f"C{number}"}, id=f"c{number}") for number in range(6)]
    model = ScriptedChatModel(play(*steps, "All sunny."), context_size=900)
    agent = make_agent(
        model,
        offloader=ReMeOffloader(reme),
        middlewares=[ReMeMemoryMiddleware(reme, mode="static")],
        tools=[Weather(answer=f"sunny {LONG}")],
    )
    await agent.reply(user("Weather everywhere?"))
    assert agent.state.summary
    archive = (reme.workspace.root / "session/agentscope/s1.jsonl").read_text()
    for number in range(6):
        assert archive.count(f'"tool_result","id":"c{number}"') <= 1
    assert archive.count('"tool_result"') >= 1
    assert not (await reme.status()).failures


async def test_the_rest_of_a_long_result_is_a_file_the_tools_read(reme: ReMe) -> None:
    agent = make_agent(
        [ToolCall("weather"), "Long."],
        offloader=ReMeOffloader(reme),
        tools=[Weather(answer=f"{'word ' * 600} the axolotl at the end")],
        context_config=config(tool_result_limit=100),
    )
    await agent.reply(user("Weather?"))
    shown = agent.state.model_dump_json()
    (path,) = {f"tool_result/{part[:36]}" for part in shown.split("tool_result/")[1:]}
    assert path.endswith(".txt")
    assert "the axolotl at the end" not in shown
    (read,) = reme.tools(include=["read"])
    assert "the axolotl at the end" in (await read.call({"path": path})).text
    assert await found(reme, "axolotl") == ["session/agentscope/s1.jsonl"]


async def test_forgetting_takes_an_offloaded_result_with_its_file(reme: ReMe) -> None:
    block = ToolResultBlock(id="c1", name="weather", output="axolotl 4711", state="success")
    path = await ReMeOffloader(reme).offload_tool_result("s1", block)
    await reme.forget(query="axolotl", dry_run=False)
    assert not (reme.workspace.root / path).exists()
    assert b"axolotl" not in (reme.workspace.root / "session/agentscope/s1.jsonl").read_bytes()


async def test_another_user_finds_nothing_of_it(reme: ReMe) -> None:
    block = ToolResultBlock(id="c1", name="weather", output="axolotl 4711", state="success")
    path = await ReMeOffloader(reme).offload_tool_result("s1", block)
    async with ReMe(reme.workspace.root, user="bob") as bob:
        assert not await found(bob, "axolotl")
        (read,) = bob.tools(include=["read"])
        assert not (await read.call({"path": path})).success


async def test_an_attachment_becomes_a_file_every_formatter_and_tool_reads(reme: ReMe) -> None:
    kept = await ReMeOffloader(reme).offload_data_block(picture("the axolotl.png"))
    assert isinstance(kept.source, URLSource)
    url = str(kept.source.url)
    assert url.startswith(reme.workspace.root.as_uri() + "/tool_result/")
    model = ScriptedChatModel([])
    prompt = await model.formatter.format([UserMsg("Ann", [kept])])
    assert PNG in str(prompt)
    (look,) = reme.tools(include=["read_image"])
    seen = await look.call({"path": url})
    assert [getattr(block, "data", None) for block in seen.blocks] == [PNG]
    assert await found(reme, "axolotl") == ["session/agentscope/offloaded-attachments.jsonl"]


@pytest.mark.parametrize("url", ["file:///etc/passwd", "{root}/../x.png", "{root}-b/x.png"])
async def test_the_address_of_a_file_elsewhere_is_refused(reme: ReMe, url: str) -> None:
    (look,) = reme.tools(include=["read_image"])
    outcome = await look.call({"path": url.format(root=reme.workspace.root.as_uri())})
    assert not outcome.success


async def test_what_is_an_address_already_stays(reme: ReMe) -> None:
    source = URLSource.model_validate(
        {"url": "https://example.org/a.png", "media_type": "image/png"}
    )
    block = DataBlock(source=source)
    assert await ReMeOffloader(reme).offload_data_block(block) is block


if LATER:

    async def test_images_beyond_the_limit_are_named_and_kept(reme: ReMe) -> None:
        agent = make_agent(["Seen."], offloader=ReMeOffloader(reme))
        agent.context_config = config(max_image_num=1)
        datas = [base64.b64encode(f"picture {n}".encode()).decode() for n in range(3)]
        await agent.reply(UserMsg("Ann", [picture(data=data) for data in datas]))
        kept = {p.read_bytes() for p in (reme.workspace.root / "tool_result").iterdir()}
        assert kept == {b"picture 0", b"picture 1"}
        assert "workspace://" not in agent.state.model_dump_json()

    async def test_an_image_the_model_cannot_take_is_kept(reme: ReMe) -> None:
        model = ScriptedChatModel(["A file."], formatter=DeepSeekChatFormatter())
        agent = make_agent(model, offloader=ReMeOffloader(reme))
        await agent.reply(UserMsg("Ann", [picture()]))
        assert "/tool_result/" in agent.state.model_dump_json()


class Elsewhere:
    """Another offloader, as the agent service brings one."""

    async def offload_context(self, session_id: str, msgs: list[Msg]) -> str:
        return "workspace:///context"

    async def offload_tool_result(self, session_id: str, tool_result: ToolResultBlock) -> str:
        return "workspace:///result"


async def test_in_front_of_another_one_both_keep_it(reme: ReMe) -> None:
    both = ReMeOffloader(reme, Elsewhere())
    block = ToolResultBlock(id="c1", name="weather", output="axolotl", state="success")
    assert await both.offload_tool_result("s1", block) == "workspace:///result"
    assert await both.offload_context("s1", [user("pangolin")]) == "workspace:///context"
    assert await found(reme, "axolotl pangolin") == ["session/agentscope/s1.jsonl"]
    assert isinstance((await both.offload_data_block(picture())).source, URLSource)


async def test_a_memory_that_cannot_write_costs_no_reply(reme: ReMe) -> None:
    for folder in ("session/agentscope", "tool_result"):
        (reme.workspace.root / folder).write_text("a file stands where the folder should be")
    offloader = ReMeOffloader(reme)
    block = ToolResultBlock(id="c1", name="weather", output="axolotl", state="success")
    assert "could not be saved" in await offloader.offload_context("s1", [user("hello")])
    assert "could not be saved" in await offloader.offload_tool_result("s1", block)
    given = picture()
    assert await offloader.offload_data_block(given) is given


def test_a_memory_without_files_is_refused(memory: InMemoryService) -> None:
    with pytest.raises(BadInput, match="tool results"):
        ReMeOffloader(memory)  # type: ignore[arg-type]
