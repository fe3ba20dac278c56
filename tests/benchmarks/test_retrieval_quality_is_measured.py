"""The quality benchmark runs from a conversation to its tables; here with two sessions."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import locomo
from benchmarks.chinese_terms import KINDS, chinese_task, hit_rates
from benchmarks.locomo_data import Conversation, read_conversation, read_conversations


def turn(number: str, speaker: str, text: str, **more: str) -> dict[str, str]:
    return {"dia_id": number, "speaker": speaker, "text": text, **more}


CONVERSATION: dict[str, Any] = {
    "speaker_a": "Ann",
    "speaker_b": "Bo",
    "session_1_date_time": "1:56 pm on 8 May, 2023",
    "session_1": [
        turn("D1:1", "Ann", "I signed up for the pottery workshop in Leeds."),
        turn("D1:2", "Bo", "My sister plays the cello.", blip_caption="a cello on a stage"),
    ],
    "session_2_date_time": "9:05 am on 12 June, 2023",
    "session_2": [
        turn("D2:01", "Ann", "The kiln broke on the first day."),
        turn("D2:2", "Bo", "We adopted a beagle named Otis."),
    ],
    "qa": [
        {"question": "Where is the pottery workshop?", "evidence": ["D1:1"], "category": 4},
        {"question": "What broke?", "evidence": ["D:2:1"], "category": 2},
        {"question": "Cello and beagle?", "evidence": ["D1:2; D2:02"], "category": 1},
        {"question": "Not to be judged", "evidence": [], "category": 3},
        {"question": "About a turn that is not there", "evidence": ["D9:9"], "category": 5},
    ],
}


@pytest.fixture
def conversation() -> Conversation:
    return read_conversation(CONVERSATION, "two-sessions")


def test_evidence_ids_are_repaired_and_strays_dropped(conversation: Conversation) -> None:
    assert [question.evidence for question in conversation.questions] == [
        frozenset({"D1:1"}),
        frozenset({"D2:1"}),
        frozenset({"D1:2", "D2:2"}),
    ]
    cello = conversation.sessions["session-1"][1]
    assert cello.text == "My sister plays the cello. [shares a picture: a cello on a stage]"
    assert cello.created_at == "2023-05-08T13:56:00"


def test_questions_are_asked_through_the_whole_memory(conversation: Conversation) -> None:
    judged = asyncio.run(locomo.ours([conversation], 300))

    assert [row.found.within for row in judged] == [(1.0, 1.0, 1.0)] * 3
    assert [row.found.recall for row in judged] == [1.0] * 3


def test_long_turns_are_found_in_parts(conversation: Conversation) -> None:
    long = " ".join(f"word{number}" for number in range(60))
    data = {**CONVERSATION, "session_1": [turn("D1:1", "Ann", f"pottery {long} pottery")]}
    asked = [{"question": "pottery", "evidence": ["D1:1"], "category": 4}]
    judged = asyncio.run(locomo.ours([read_conversation({**data, "qa": asked}, "long")], 300))

    assert judged[0].found.within == (1.0, 1.0, 1.0)


def test_the_report_shows_every_setup_and_category(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "1.json").write_text(json.dumps(CONVERSATION), "utf-8")
    words = ["--data", str(tmp_path), "--sizes", "300", "--chinese-texts", "40", "--ours-only"]

    assert locomo.main(words) == 0

    out = capsys.readouterr().out
    assert "LoCoMo, 1 conversations, 3 questions with evidence" in out
    assert "| ours, chunks of 300 bytes | 1.000 | 1.000 | 1.000 | 1.000 |" in out
    assert "(default) | 1.000 |" in out
    assert "| 4 single-hop (1) |" in out
    assert "Chinese hit@10 among 40 texts" in out
    assert "MISS" not in out


def test_the_file_of_its_authors_is_a_list_and_its_neighbours_are_passed_by(tmp_path: Path) -> None:
    talk = {key: value for key, value in CONVERSATION.items() if key != "qa"}
    rows = [
        {"sample_id": f"conv-{number}", "qa": CONVERSATION["qa"], "conversation": talk}
        for number in (26, 30)
    ]
    (tmp_path / "locomo10.json").write_text(json.dumps(rows), "utf-8")
    (tmp_path / "personas.json").write_text(json.dumps({"train": [{"speaker": "Ann"}]}), "utf-8")
    (tmp_path / "texts.json").write_text(json.dumps(["a", 1, {"conversation": [1]}]), "utf-8")

    found = read_conversations(tmp_path)

    assert [(one.name, len(one.sessions), len(one.questions)) for one in found] == [
        ("26", 2, 3),
        ("30", 2, 3),
    ]


def test_without_data_it_says_so_and_is_no_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--data", str(tmp_path / "none"), "--chinese-texts", "20", "--ours-only"]

    assert locomo.main(words) == 0

    out = capsys.readouterr().out
    assert f"No LoCoMo files in {tmp_path / 'none'}: get data/locomo10.json from " in out
    assert "github.com/snap-research/LoCoMo and pass --data FOLDER" in out
    assert "Chinese hit@10" in out


def test_chinese_tasks_are_the_same_every_time_and_can_be_solved() -> None:
    task = chinese_task(50)

    assert task == chinese_task(50)
    assert all(len(query) == 7 for query, _ in task.queries[KINDS[2]])
    perfect = {kind: [[wanted] for _, wanted in task.queries[kind]] for kind in KINDS}
    assert hit_rates(task, perfect) == dict.fromkeys(KINDS, 1.0)
    assert hit_rates(task, {kind: [[] for _ in task.queries[kind]] for kind in KINDS}) == (
        dict.fromkeys(KINDS, 0.0)
    )
