"""Nodes are connected in sentences; a link that leads nowhere is refused, or reported later."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from agentscope_reme import ReMe
from agentscope_reme.messages import Message
from agentscope_reme.ports import AgentRun, Tool, Usage
from agentscope_reme.steps.dream.units import Extraction
from tests.dream.conftest import documents, note
from tests.dream.models import Dreamer, Toolbox

Open = Callable[..., ReMe]
DAY = "2026-06-20"
TEA, SHOP = "digest/personal/tea.md", "digest/wiki/shop.md"


class Linking(Dreamer):
    """Adds a sentence with a link to the other candidate it was shown, or to a ghost."""

    def __init__(self, ghost: str = "") -> None:
        super().__init__()
        self.ghost = ghost

    async def integrate(self, text: str, box: Toolbox) -> dict[str, Any]:
        made = await super().integrate(text, box)
        if "Unit: Shop" in text:
            found = (await box.use("node_search", query="tea")).text.partition(" |")[0]
            target = "" if "was refused" in text else self.ghost
            line = f"It sells what [[{target or found}|the person]] drinks."
            await box.use("edit", path=SHOP, old="## Sources", new=f"{line}\n\n## Sources")
        return made


async def test_a_node_of_the_same_dream_is_found_and_linked(open_memory: Open) -> None:
    async with open_memory(Linking()) as reme:
        await note(reme, DAY, "talk", "[personal] Tea: green", "[wiki] Shop: in Bern")
        result = await reme.auto_dream()
        graph = await reme.graph_snapshot()
        text = documents(reme)[SHOP].decode()
    assert result.success
    assert f"It sells what [[{TEA}|the person]] drinks. (observed {DAY})" in text
    assert (SHOP, TEA) in {(edge.source_path, edge.target_path) for edge in graph.edges}


async def test_a_link_to_nowhere_is_sent_back(open_memory: Open) -> None:
    dreamer = Linking(ghost="digest/wiki/ghost.md")
    async with open_memory(dreamer) as reme:
        await note(reme, DAY, "talk", "[personal] Tea: green", "[wiki] Shop: in Bern")
        result = await reme.auto_dream()
        assert f"[[{TEA}|the person]]" in documents(reme)[SHOP].decode()
    assert result.success
    assert result.agent_runs == 4
    assert "[[digest/wiki/ghost.md]] leads nowhere" in dreamer.asked[-1].text


async def test_a_link_that_dangles_later_is_reported(open_memory: Open) -> None:
    async with open_memory(Linking()) as reme:
        await note(reme, DAY, "talk", "[personal] Tea: green", "[wiki] Shop: in Bern")
        await reme.auto_dream()
        await reme.delete(TEA)
        [found] = (await reme.doctor()).differences
    missing = f"links to [[{TEA}]], which is missing; mend or remove the link"
    assert (found.item, found.reason) == (SHOP, missing)


async def test_a_day_page_that_lists_a_missing_card_is_written_anew(open_memory: Open) -> None:
    async with open_memory(Linking()) as reme:
        await note(reme, DAY, "talk", "[personal] Tea: green")
        await reme.daily_reindex(date=DAY)
        (reme.application.components.workspace.root / f"daily/{DAY}/talk.md").unlink()
        await reme.reindex()
        [found] = (await reme.doctor()).differences
        assert found.item == f"daily/{DAY}.md"
        assert f"; run `daily_reindex` with date={DAY}, or mend" in found.reason
        await reme.daily_reindex(date=DAY)
        assert not (await reme.doctor()).differences


class AgentOnly:
    """An agent port and no chat port: extraction is an agent run without tools then."""

    supports_images = False

    def __init__(self) -> None:
        self.dreamer = Dreamer()
        self.tools: list[int] = []

    async def run(
        self,
        instructions: str,
        messages: Sequence[Message],
        tools: Sequence[Tool],
        output: Any = None,
        **options: Any,
    ) -> AgentRun[Any]:
        self.tools.append(len(tools))
        if output is Extraction:
            found = await self.dreamer.extract(messages[0].text)
            return AgentRun("", Extraction.model_validate(found), Usage(), 1)
        return await self.dreamer.run(instructions, messages, tools, output, **options)


async def test_an_agent_port_alone_can_dream(open_memory: Open) -> None:
    model = AgentOnly()
    async with open_memory(model) as reme:
        await note(reme, DAY, "talk", "[personal] Tea: green")
        result = await reme.auto_dream()
    assert [i.target_path for i in result.integrated] == [TEA]
    assert model.tools == [0, 6]
