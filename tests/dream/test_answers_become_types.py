"""What a model answers is read into closed types; wordy or oddly spelled is not wrong."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from agentscope_reme.steps.dream.units import Extraction, Receipt

UNIT = {"name": "Tea", "summary": "green", "bucket": "personal", "paths": ["daily/a.md"]}


def test_only_its_own_fields_are_asked_for() -> None:
    schema = Extraction.model_json_schema()
    assert set(schema["properties"]) == {"units", "topics"}
    assert schema["additionalProperties"] is False
    assert schema["$defs"]["ProposedUnit"]["properties"]["bucket"]["enum"] == [
        "personal",
        "procedure",
        "wiki",
    ]
    assert set(Receipt.model_json_schema()["properties"]) == {"action", "target_path", "note"}


def test_spelling_and_length_cost_nothing() -> None:
    wordy = {**UNIT, "name": "t" * 500, "summary": "s" * 9000, "bucket": " Personal", "mood": 1}
    topic = {"title": "t" * 500, "keywords": ["k"] * 30, "paths": ["p"] * 30}
    found = Extraction.model_validate({"units": [wordy], "topics": [topic], "thoughts": "many"})
    [unit], [kept] = found.units, found.topics
    assert (len(unit.name), len(unit.summary), unit.bucket) == (120, 2000, "personal")
    assert (len(kept.title), len(kept.keywords), len(kept.paths)) == (120, 8, 8)
    assert Receipt.model_validate({"action": "create", "target_path": "a.md"}).action == "CREATE"


@pytest.mark.parametrize(
    "broken",
    [{"bucket": "cellar"}, {"name": " "}, {"paths": []}, {"paths": "daily/a.md"}, {"summary": 5}],
)
def test_a_malformed_unit_is_told_apart_from_the_others(broken: dict[str, object]) -> None:
    found = Extraction.model_validate({"units": [UNIT, {**UNIT, **broken}, "text"]})
    assert [unit.name for unit in found.units] == ["Tea"]
    assert len(found.refused) == 2
    assert next(iter(broken)) in found.refused[0]
    again = Extraction.model_validate(found.model_dump())  # a framework may have read it first
    assert again.refused == found.refused


@pytest.mark.parametrize("answer", [{}, [], None, {"units": "all"}, {"units": {"a": UNIT}}])
def test_anything_else_is_no_answer(answer: object) -> None:
    with pytest.raises(ValidationError):
        Extraction.model_validate(answer)


@pytest.mark.parametrize(
    "answer", [{}, {"action": "DELETE", "target_path": "a"}, {"action": "CREATE"}]
)
def test_a_receipt_names_one_of_four_actions_and_a_node(answer: object) -> None:
    with pytest.raises(ValidationError):
        Receipt.model_validate(answer)
