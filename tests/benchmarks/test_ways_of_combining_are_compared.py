"""The comparison of fusions runs from a conversation to its tables; here with made-up vectors."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from agentscope_reme.messages import DataBlock
from benchmarks import hybrid
from benchmarks.chinese_terms import ChineseTask, chinese_task
from benchmarks.locomo_data import Conversation, read_conversation
from tests.benchmarks.test_retrieval_quality_is_measured import CONVERSATION
from tests.loopback.vectors import vector_of


class Directions:
    """Words as directions: an embedding model that knows nothing of meaning."""

    space_id = "directions"

    async def embed(self, inputs: Sequence[str | DataBlock]) -> list[list[float]]:
        return [vector_of(str(item), 16) for item in inputs]


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        hybrid, "WAYS", (hybrid.Way("score", 0), hybrid.Way("rrf", 0.7), hybrid.Way("score", 0.3))
    )
    monkeypatch.setattr(hybrid, "TOKENS", 3)


@pytest.fixture
def conversation() -> Conversation:
    return read_conversation(CONVERSATION, "41")


@pytest.fixture
def task() -> ChineseTask:
    return chinese_task(4)


@pytest.mark.usefixtures("few")
def test_every_way_is_in_every_table(conversation: Conversation, task: ChineseTask) -> None:
    told = asyncio.run(hybrid.report(Directions(), [conversation], task))
    assert "LoCoMo, 1 conversations to choose by, 3 questions" in told
    assert "conversations to judge by" not in told
    for way in ("BM25 alone", "rrf, vector weight 0.7 (as documented)", "score, vector weight 0.3"):
        assert told.count(f"| {way} |") == 5  # to choose by, all, notes, terms, tokens
    assert "| BM25 alone | 3 of 3 | 3 of 3 |" in told


def test_notes_are_asked_in_two_ways_each() -> None:
    questions = [q for note in hybrid.NOTES for q in (note.verbatim, note.paraphrase)]
    assert len(set(questions)) == 2 * len(hybrid.NOTES)


def test_without_the_model_it_says_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hybrid, "find_spec", lambda _: None)
    assert hybrid.main([]) == 0
    assert "agentscope-reme[local]" in capsys.readouterr().out
