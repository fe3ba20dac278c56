"""The stand-in follows its rules, to the letter."""

from __future__ import annotations

from typing import Any

import pytest
from stand_in_cards import statements, write_card
from stand_in_rules import Call, Say, Turn, best_line, decide, fill
from stand_in_words import content_words, is_question

WRITER: dict[str, dict[str, Any]] = {"daily_write": {}, "edit": {}, "read": {}}
SEARCHER: dict[str, dict[str, Any]] = {"memory_search": {}, "read": {}}

TALK = """[Mira @ 2026-06-18T09:05:00+02:00] The pilot opens on 3 July. Who tests it?

[Assistant @ 2026-06-18T09:06:00+02:00] I could test the pilot on 3 July.

[Mira @ 2026-06-18T09:11:00+02:00] We decided on PostgreSQL because two desks write at once. Thanks!

[Mira @ 2026-06-18T09:20:00+02:00] 更正：试点改为七月十七日。"""

HITS = """========== daily/2026-06-18/a.md:5-9 [score=0.0164 (keyword=3#1)] 2026-06-18 a ==========
(Notes)
- 2026-06-18 09:05 Mira: The Lantern pilot opens on 3 July.
- 2026-06-18 09:07 Mira: The front end is written by Noor.
  outlinks (1):
    → daily/2026-06-18.md

========== daily/2026-06-21/plans.md:9-11 [score=0.0161] 2026-06-21 plans ==========
## Corrections

- 2026-06-21 16:01 Mira: The Lantern pilot moved from 3 July to 17 July."""


def prompt(conversation: str, head: str = "Day: 2026-06-18") -> Turn:
    return Turn("user", f"{head}\n\n<conversation>\n{conversation}\n</conversation>")


def test_a_card_holds_what_people_said_and_nothing_else() -> None:
    assert [(s.heading, s.who, s.text) for s in statements(TALK)] == [
        ("Notes", "Mira", "The pilot opens on 3 July."),
        ("Decisions", "Mira", "We decided on PostgreSQL because two desks write at once."),
        ("Corrections", "Mira", "更正：试点改为七月十七日。"),
    ]


def test_a_card_has_a_topic_a_description_and_dated_bullets() -> None:
    card = write_card(TALK)
    assert card is not None
    assert card.name == "pilot-opens-july"
    assert card.description.startswith("The pilot opens on 3 July. We decided")
    assert card.content == (
        "## Notes\n\n- 2026-06-18 09:05 Mira: The pilot opens on 3 July.\n\n"
        "## Decisions\n\n- 2026-06-18 09:11 Mira: "
        "We decided on PostgreSQL because two desks write at once.\n\n"
        "## Corrections\n\n- 2026-06-18 09:20 Mira: 更正：试点改为七月十七日。\n"
    )


def test_the_writer_calls_daily_write_once_and_stops() -> None:
    step = decide([Turn("system", "You keep a memory."), prompt(TALK)], WRITER)
    assert isinstance(step, Call)
    assert step.tool == "daily_write"
    assert set(step.arguments) == {"name", "description", "content"}
    after = [prompt(TALK), Turn("call", "", "daily_write"), Turn("result", "Wrote it.")]
    assert decide(after, WRITER) == Say("Wrote it.")


def test_small_talk_makes_no_card() -> None:
    assert decide([prompt("[Mira @ time unknown] Hi there!")], WRITER) == Say("Nothing to record.")


def test_an_update_adds_only_new_bullets_after_the_last_one() -> None:
    card = "## Notes\n\n- 2026-06-18 09:05 Mira: The pilot opens on 3 July.\n"
    head = f"Card: daily/2026-06-18/pilot.md\n\n<card>\n{card}\n</card>"
    talk = TALK.split("\n\n")[0] + "\n\n[Mira @ 2026-06-18T10:00:00] Noor writes the front end."
    anchor = "- 2026-06-18 09:05 Mira: The pilot opens on 3 July."
    assert decide([prompt(talk, head)], WRITER) == Call(
        "edit",
        {
            "path": "daily/2026-06-18/pilot.md",
            "old": anchor,
            "new": f"{anchor}\n- 2026-06-18 10:00 Mira: Noor writes the front end.",
        },
    )
    assert decide([prompt(TALK.split("\n\n")[0], head)], WRITER) == Say("Nothing to record.")


def test_a_question_is_searched_for_by_its_content_words() -> None:
    step = decide([Turn("user", "When does the Lantern pilot open?")], SEARCHER)
    assert step == Call("memory_search", {"query": "lantern pilot open", "limit": 8})
    chinese = decide([Turn("user", "景和陶业每月送多少陶土？")], SEARCHER)
    assert isinstance(chinese, Call)
    assert "多少" not in chinese.arguments["query"]
    assert "陶土" in chinese.arguments["query"]


def test_the_best_line_is_quoted_with_its_place() -> None:
    turns = [
        Turn("user", "When does the Lantern pilot open?"),
        Turn("call", "", "memory_search"),
        Turn("result", HITS, "memory_search"),
    ]
    assert decide(turns, SEARCHER) == Say(
        'From memory: "Mira: The Lantern pilot moved from 3 July to 17 July." '
        "(daily/2026-06-21/plans.md:9-11)"
    )


def test_without_a_search_tool_the_recalled_passages_are_used() -> None:
    pack = "<recalled-memory>\n[daily/2026-06-18/x.md:3-4 | 2026-06-18 | x]\n- Tea at 75 degrees.\n"
    turns = [Turn("user", "How many degrees for tea?"), Turn("memory", pack)]
    assert decide(turns, {}) == Say('From memory: "Tea at 75 degrees." (daily/2026-06-18/x.md:3-4)')


def test_nothing_found_is_said_in_words() -> None:
    turns = [Turn("user", "Who sings?"), Turn("result", "Nothing matches.", "memory_search")]
    assert decide(turns, SEARCHER) == Say("I found nothing about that in memory.")
    assert best_line("Who sings?", HITS) is None


def test_each_question_is_searched_for_anew() -> None:
    turns = [
        Turn("user", "Who sings?"),
        Turn("result", "Nothing matches.", "memory_search"),
        Turn("assistant", "I found nothing about that in memory."),
        Turn("user", "Who dances?"),
    ]
    assert isinstance(decide(turns, SEARCHER), Call)


@pytest.mark.parametrize(
    ("said", "answer"), [("Tea at noon.", "Noted."), ("喝绿茶。", "好的，记下了。")]
)
def test_statements_are_acknowledged(said: str, answer: str) -> None:
    assert decide([Turn("user", said)], SEARCHER) == Say(answer)


def test_a_structured_answer_has_the_shape_of_the_schema() -> None:
    schema = {
        "properties": {
            "tags": {"type": "array", "items": {"type": "string"}},
            "summary": {"type": "string"},
            "kind": {"enum": ["fact", "wish"]},
            "sure": {"type": "boolean"},
            "inner": {"$ref": "#/$defs/Inner"},
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
        "$defs": {"Inner": {"type": "object", "properties": {"count": {"type": "integer"}}}},
    }
    assert fill(schema, "Green tea needs green cups. Yes.") == {
        "tags": ["green", "tea", "needs", "cups"],
        "summary": "Green tea needs green cups.",
        "kind": "fact",
        "sure": False,
        "inner": {"count": 0},
        "note": "Green tea needs green cups.",
    }


def test_numbers_stay_whole_and_question_words_go() -> None:
    assert content_words("Why is it 4,800 euros at 3.2?") == ["4,800", "euros", "3.2"]
    assert is_question("几点送货")
    assert not is_question("We know what we do.")
