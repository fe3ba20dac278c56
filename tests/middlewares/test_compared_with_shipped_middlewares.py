"""Our column of the comparison with AgentScope's middlewares: what the table says, holds."""

from __future__ import annotations

import pytest

from benchmarks.memory_middlewares.contenders import Ours
from benchmarks.memory_middlewares.conversations import CONVERSATIONS, added_latency, prompt_tokens

MEASURED = {prompt_tokens, added_latency}
EXPECTED = {
    "image_turn": "words yes, image yes",
    "permission_pause": "question yes, answer yes",
    "model_calls": "1",
}


@pytest.mark.parametrize("label", [k for k, v in CONVERSATIONS.items() if v not in MEASURED])
async def test_every_turn_is_kept_and_every_fact_is_seen_in_time(label: str) -> None:
    conversation = CONVERSATIONS[label]
    assert await conversation(Ours) == EXPECTED.get(conversation.__name__, "yes")


async def test_a_question_about_nothing_known_costs_no_words_in_the_prompt() -> None:
    words, _, _ = (await prompt_tokens(Ours)).partition(" + ")
    assert int(words) < 60
