"""While a dream runs, people edit, pin and delete, and other processes dream: nobody loses."""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import Awaitable, Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme import ReMe, Settings
from agentscope_reme.files.locks import WorkspaceLocks
from agentscope_reme.workspace import Workspace
from tests.dream.conftest import documents, note
from tests.dream.models import Dreamer, Toolbox

Open = Callable[..., ReMe]
DAY = "2026-06-20"
TEA, LAUNCH = "digest/personal/tea.md", "digest/wiki/launch.md"


class Disturbed(Dreamer):
    """Something happens after the agent has done its work and before the dream commits it."""

    def __init__(self, happens: Callable[[], Awaitable[Any]] | None = None) -> None:
        super().__init__()
        self.happens = happens

    async def integrate(self, text: str, box: Toolbox) -> dict[str, Any]:
        made = await super().integrate(text, box)
        if self.happens is not None:
            happens, self.happens = self.happens, None
            await happens()
        return made


async def grown(reme: ReMe) -> None:
    await note(reme, "2026-06-19", "talk", "[personal] Tea: green", "[wiki] Launch: 2 July")
    await reme.auto_dream(topic_count=0)
    await note(reme, DAY, "news", "[personal] Tea: black", "[wiki] Launch: 9 July")


async def test_a_node_a_person_edited_meanwhile_is_left_alone_and_done_next_time(
    open_memory: Open,
) -> None:
    dreamer = Disturbed()
    async with open_memory(dreamer) as reme:
        await grown(reme)

        async def edit() -> None:
            await reme.edit(TEA, "# Tea", "# Tea\n\nMine: with milk.")

        dreamer.happens = edit
        result = await reme.auto_dream(topic_count=0)
        tea, launch = (await reme.read(TEA)).content, (await reme.read(LAUNCH)).content
        assert not result.success
        assert [i.target_path for i in result.integrated] == [LAUNCH]
        assert [failure.item for failure in result.failed] == ["Tea"]
        assert "Mine: with milk." in tea
        assert "black" not in tea
        assert "9 July" in launch
        again = await reme.auto_dream(topic_count=0)
        tea = (await reme.read(TEA)).content
    assert [i.unit for i in again.integrated] == ["Tea"]
    assert "Mine: with milk.\n" in tea  # a person's words get no date of ours
    assert "- Tea: black (observed 2026-06-20)" in tea


async def test_a_node_that_was_pinned_meanwhile_is_not_changed(open_memory: Open) -> None:
    dreamer = Disturbed()
    async with open_memory(dreamer) as reme:
        await grown(reme)

        async def pin() -> None:
            await reme.frontmatter_update(TEA, {"pinned": True})

        dreamer.happens = pin
        await reme.auto_dream(topic_count=0)
        pinned = documents(reme)[TEA]
        result = await reme.auto_dream(topic_count=0)
        assert documents(reme)[TEA] == pinned
    assert not result.success
    assert "pinned" in result.failed[0].reason


async def test_a_node_of_the_same_name_a_person_made_meanwhile_stays(open_memory: Open) -> None:
    dreamer = Disturbed()
    async with open_memory(dreamer) as reme:
        await note(reme, DAY, "talk", "[personal] Tea: green")

        async def make() -> None:
            await reme.write(TEA, "Mine.\n", name="Tea", description="Mine.")

        dreamer.happens = make
        result = await reme.auto_dream(topic_count=0)
        tea = (await reme.read(TEA)).content
    assert result.success
    assert [i.action for i in result.integrated] == ["CORROBORATE"]  # sent back, then merged
    assert "Mine." in tea
    assert "[[daily/2026-06-20/talk.md]]" in tea


async def test_a_person_who_deletes_the_node_wins(open_memory: Open) -> None:
    dreamer = Disturbed()
    async with open_memory(dreamer) as reme:
        await grown(reme)

        async def delete() -> None:
            await reme.delete(TEA)

        dreamer.happens = delete
        result = await reme.auto_dream(topic_count=0)
        assert TEA not in documents(reme)
    assert [failure.item for failure in result.failed] == ["Tea"]


async def test_a_cancelled_dream_writes_nothing_and_keeps_what_it_read(open_memory: Open) -> None:
    reached = asyncio.Event()

    async def wait() -> None:
        reached.set()
        await asyncio.Event().wait()

    dreamer = Disturbed(wait)
    async with open_memory(dreamer) as reme:
        await note(reme, DAY, "talk", "[personal] Tea: green")
        before = documents(reme)
        dream = asyncio.create_task(reme.auto_dream())
        await reached.wait()
        dream.cancel()
        with pytest.raises(asyncio.CancelledError):
            await dream
        assert documents(reme) == before
        result = await reme.auto_dream()
    assert result.success
    assert [a.kind for a in dreamer.asked] == ["extract", "integrate", "integrate"]


async def test_a_second_task_reports_pending(open_memory: Open) -> None:
    answers: list[Any] = []
    dreamer = Disturbed()
    async with open_memory(dreamer) as reme:
        await note(reme, DAY, "talk", "[personal] Tea: green")

        async def dream_too() -> None:
            answers.append(await reme.auto_dream())
            answers.append(await reme.auto_dream(dry_run=True))

        dreamer.happens = dream_too
        result = await reme.auto_dream()
    assert result.success
    assert (answers[0].success, answers[0].pending, answers[0].units) == (True, True, [])
    assert "dreaming already" in answers[0].answer
    assert answers[1].diff  # who writes nothing waits for nobody


def hold(root: Path, pipe: Connection) -> None:
    with WorkspaceLocks(Workspace(root)).claim("dream") as mine:
        pipe.send(mine)
        pipe.recv()


async def test_a_second_process_reports_pending(open_memory: Open) -> None:
    dreamer = Dreamer()
    async with open_memory(dreamer) as reme:
        await note(reme, DAY, "talk", "[personal] Tea: green")
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        other = context.Process(target=hold, args=(reme.workspace.root, theirs), daemon=True)
        other.start()
        assert await asyncio.to_thread(ours.recv)
        before = documents(reme)
        waiting = await reme.auto_dream()
        assert documents(reme) == before
        ours.send("enough")
        await asyncio.to_thread(other.join)
        result = await reme.auto_dream()
    assert (waiting.success, waiting.pending) == (True, True)
    assert [i.action for i in result.integrated] == ["CREATE"]


class Forgetful(Dreamer):
    """Creates a node each time, without looking; mends it when told."""

    async def integrate(self, text: str, box: Toolbox) -> dict[str, Any]:
        if "was refused" in text:
            assert f"- {TEA} already is about this" in text
            return await super().integrate(text, box)
        return await self.create(
            box, "personal", "My  TEA", "green", ["[[daily/2026-06-20/news.md]]"]
        )


async def test_a_second_node_about_the_same_is_sent_back(open_memory: Open) -> None:
    async with open_memory(Dreamer()) as reme:
        await note(reme, "2026-06-19", "talk", "[personal] Tea: green leaves with honey and milk")
        await reme.auto_dream()
    dreamer = Forgetful()
    async with open_memory(dreamer) as reme:
        await reme.frontmatter_update(TEA, {"name": "my tea"})
        await note(reme, DAY, "news", "[personal] my tea: green leaves with honey and milk")
        result = await reme.auto_dream()
        assert [p for p in documents(reme) if p.startswith("digest/")] == [TEA]
    assert [(i.action, i.target_path) for i in result.integrated] == [("CORROBORATE", TEA)]
    assert result.agent_runs == 3


async def test_two_units_of_one_dream_do_not_make_two_nodes(open_memory: Open) -> None:
    class Doubled(Dreamer):
        async def extract(self, text: str) -> dict[str, Any]:
            answer = await super().extract(text)
            [unit] = answer["units"]
            return {"units": [unit, {**unit, "summary": f"{unit['summary']} leaf"}]}

    async with open_memory(Doubled(), settings=Settings(watch=False, fsync=False)) as reme:
        await note(reme, DAY, "talk", "[personal] Tea: green")
        result = await reme.auto_dream()
        text = (await reme.read(TEA)).content
    assert [i.action for i in result.integrated] == ["CREATE", "CORRECT"]
    assert result.diff.count(f"+++ b/{TEA}") == 1
    assert "- Tea: green leaf (observed 2026-06-20)" in text


@pytest.mark.parametrize("fate", ["emptied", "deleted", "renamed"])
async def test_a_note_that_is_gone_before_its_unit_is_done_owes_nothing(
    open_memory: Open, fate: str
) -> None:
    class Late(Disturbed):
        async def extract(self, text: str) -> dict[str, Any]:
            answer = await super().extract(text)
            if self.happens is not None:
                happens, self.happens = self.happens, None
                await happens()
            return answer

    dreamer = Late()
    async with open_memory(dreamer) as reme:
        card = await note(reme, DAY, "talk", "[personal] Tea: green")

        async def go() -> None:
            place = reme.workspace.root / card
            match fate:
                case "emptied":
                    place.write_text("")
                case "deleted":
                    place.unlink()
                case _:
                    place.rename(place.with_name("other.md"))

        dreamer.happens = go
        first = await reme.auto_dream(topic_count=0)
        second = await reme.auto_dream(topic_count=0)
    assert [failure.item for failure in first.failed] == ["Tea"]
    assert (second.success, second.carried, second.failed) == (True, [], [])
    assert [i.target_path for i in second.integrated] == ([TEA] if fate == "renamed" else [])


async def test_a_note_that_cannot_be_read_fails_alone(open_memory: Open) -> None:
    async with open_memory(Dreamer()) as reme:
        card = await note(reme, DAY, "talk", "[personal] Tea: green")
        folder = (reme.workspace.root / card).parent
        (folder / "loop.md").symlink_to("loop.md")
        (folder / "out.md").symlink_to("/etc/hostname")
        (folder / "folder.md").mkdir()
        result = await reme.auto_dream(topic_count=0)
    assert [i.target_path for i in result.integrated] == [TEA]
