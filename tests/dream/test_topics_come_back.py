"""Topics of the day: chosen without repeating recent days, written for people, read by agents."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
import yaml

from agentscope_reme import ReMe
from agentscope_reme.steps.dream import DreamTopicsStep
from agentscope_reme.testing import FakeClock
from tests.dream.conftest import documents, note
from tests.dream.models import Dreamer

Open = Callable[..., ReMe]
DAY = "2026-06-20"
FILE = f"daily/{DAY}/interests.yaml"


class Curious(Dreamer):
    """Names the topics it was made with."""

    def __init__(self, *topics: dict[str, Any]) -> None:
        super().__init__()
        self.topics = list(topics)

    async def extract(self, text: str) -> dict[str, Any]:
        return {"units": [], "topics": self.topics}


def topic(title: str, path: str = f"daily/{DAY}/talk.md") -> dict[str, Any]:
    return {
        "title": title,
        "reason": "asked twice",
        "evidence": "a question",
        "keywords": ["k"],
        "paths": [path],
    }


async def test_the_file_of_a_day_has_the_documented_form(open_memory: Open) -> None:
    async with open_memory(Curious(topic("Solar roofs"), topic("Chess openings"))) as reme:
        card = await note(reme, DAY, "talk", "a line")
        result = await reme.auto_dream()
        told = yaml.safe_load(documents(reme)[FILE])
        proactive = await reme.proactive()
    assert told == {
        "date": DAY,
        "topic_count": 3,
        "diversity_days": 7,
        "topics": [topic("Solar roofs"), topic("Chess openings")],
    }
    assert [t.title for t in result.topics] == ["Solar roofs", "Chess openings"]
    assert proactive.topics == result.topics
    assert (proactive.date, proactive.path) == (DAY, FILE)
    assert f"Solar roofs - asked twice - a question [[{card}]]" in proactive.answer


async def test_topics_of_recent_days_are_not_repeated_in_other_words_either(
    open_memory: Open, clock: FakeClock
) -> None:
    async with open_memory(Curious(topic("Solar roofs"))) as reme:
        await note(reme, DAY, "talk", "a line")
        await reme.auto_dream()
    clock.advance(days=3)
    card = "daily/2026-06-23/more.md"
    offered = [topic("The roofs, solar", card), topic("Bread baking", card)]
    async with open_memory(Curious(*offered)) as reme:
        await note(reme, "2026-06-23", "more", "a line")
        result = await reme.auto_dream()
        assert [t.title for t in result.topics] == ["Bread baking"]
    clock.advance(days=9)
    late = topic("Solar roofs", "daily/2026-07-02/late.md")
    async with open_memory(Curious(late)) as reme:
        await note(reme, "2026-07-02", "late", "a line")
        result = await reme.auto_dream()
    assert [t.title for t in result.topics] == ["Solar roofs"]


async def test_a_second_dream_of_a_day_keeps_its_topics_and_the_count(open_memory: Open) -> None:
    dreamer = Curious(topic("Solar roofs"))
    async with open_memory(dreamer) as reme:
        await note(reme, DAY, "talk", "a line")
        await reme.auto_dream(topic_count=2)
        await note(reme, DAY, "talk2", "another line")
        titles = ("Chess openings", "Bread baking")
        dreamer.topics = [topic(title, f"daily/{DAY}/talk2.md") for title in titles]
        result = await reme.auto_dream(topic_count=2)
    assert [t.title for t in result.topics] == ["Solar roofs", "Chess openings"]


async def test_topics_without_a_note_and_topics_nobody_wants_are_left_out(
    open_memory: Open,
) -> None:
    dreamer = Curious(topic("Invented", "daily/2026-06-20/no.md"), {"title": ""}, topic("Real"))
    async with open_memory(dreamer) as reme:
        await note(reme, DAY, "talk", "a line")
        assert [t.title for t in (await reme.auto_dream()).topics] == ["Real"]
    async with open_memory(Curious(topic("Other", f"daily/{DAY}/two.md"))) as reme:
        await note(reme, DAY, "two", "a line")
        result = await reme.auto_dream(topic_count=0)
        assert [t.title for t in (await reme.proactive()).topics] == ["Real"]
    assert result.success


async def test_the_step_alone_needs_no_model(open_memory: Open) -> None:
    async with open_memory() as reme:
        await reme.daily_write(
            "solar-roofs",
            "What panels cost.",
            "- a line\n",
            date="2026-06-19",
            metadata={"memory_tags": ["solar"]},
        )
        card = await note(reme, DAY, "chess", "a line")
        result = await DreamTopicsStep()(reme.application, topic_count=2)
        [change] = [c for c in (await reme.history()).changes if c.actor == "auto_dream"]
        proactive = await reme.proactive()
        again = await DreamTopicsStep()(reme.application, topic_count=2)
        assert change.paths == [FILE]
    assert [t.title for t in result.topics] == ["chess", "solar roofs"]
    assert proactive.topics == result.topics == again.topics
    assert result.topics[0].paths == [card]
    assert result.topics[1].keywords == ["solar"]


async def test_a_file_a_person_broke_is_left_alone_and_reported(open_memory: Open) -> None:
    async with open_memory(Curious(topic("Solar roofs"))) as reme:
        await note(reme, DAY, "talk", "a line")
        await reme.write(FILE, "topics: [unfinished\n")
        result = await reme.auto_dream()
        assert documents(reme)[FILE] == b"topics: [unfinished\n"
        proactive = await reme.proactive()
    assert [failure.item for failure in result.failed] == [FILE]
    assert not proactive.success
    assert "Repair or delete" in proactive.answer


@pytest.mark.parametrize(
    "text",
    [
        "version: 2\npush: []\ntopics:\n- {id: ab, title: Roofs, kind: follow_up}\n",
        "topics: [Roofs]\n",
    ],
)
async def test_other_forms_of_the_file_are_understood(open_memory: Open, text: str) -> None:
    async with open_memory() as reme:
        await reme.write(FILE, text)
        assert [t.title for t in (await reme.proactive(date=DAY)).topics] == ["Roofs"]


async def test_a_day_without_topics_says_so(open_memory: Open) -> None:
    async with open_memory() as reme:
        result = await reme.proactive(date="2026-01-01")
    assert (result.success, result.topics, result.answer) == (
        True,
        [],
        "No topics for 2026-01-01.",
    )


@pytest.mark.parametrize(
    "content",
    [
        "a: &a [x, x]\n"
        + "".join(f"{b}: &{b} [*{a}, *{a}, *{a}, *{a}]\n" for a, b in pairwise("abcdefghijklmn"))
        + "topics:\n- title: *n\n  keywords: [*n]\n",
        "topics:\n" + "- title: t\n" * 30_000,
    ],
    ids=["nested", "huge"],
)
async def test_a_file_that_unfolds_or_is_huge_gives_no_topics_and_is_left_alone(
    open_memory: Open, content: str
) -> None:
    async with open_memory() as reme:
        place = reme.workspace.root / FILE
        place.parent.mkdir(parents=True)
        place.write_text(content)
        told = await reme.proactive()
    assert told.topics == []
    assert told.success == ("n: &n" in content)
    assert len(told.answer) < 1000
    assert place.read_text() == content


async def test_the_file_does_not_compete_with_memories(open_memory: Open) -> None:
    async with open_memory(Curious(topic("Solar roofs"))) as reme:
        card = await note(reme, DAY, "talk", "solar roofs")
        await reme.auto_dream()
        found = await reme.search("solar roofs")
    assert [hit.path for hit in found.hits] == [card]
