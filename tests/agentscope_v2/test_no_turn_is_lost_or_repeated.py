"""Whatever happens to replies, and in whatever order: each turn is in the log, and once."""

from __future__ import annotations

import asyncio
import gc
import os
import tempfile
from collections import Counter
from functools import partial
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from agentscope_reme import ReMe, Settings
from agentscope_reme.files.session_log import LoggedMessage
from tests.agentscope_v2.random_talks import MOVES, Talk, play

EXAMPLES = int(os.environ.get("REME_MIDDLEWARE_EXAMPLES", "40"))
"""Random conversations per run; ``make soak`` plays 1,000."""

_ROOMY, _TIGHT = 100_000, 900


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=EXAMPLES < 1000,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # short already: shrinking takes minutes
    suppress_health_check=[HealthCheck.too_slow],
)
@given(
    moves=st.lists(
        st.lists(st.sampled_from(MOVES), min_size=1, max_size=8), min_size=1, max_size=3
    ),
    stream=st.booleans(),
    window=st.sampled_from([_ROOMY, _ROOMY, _TIGHT]),
    shared=st.booleans(),
)
def test_every_turn_is_logged_once(
    moves: list[list[str]], stream: bool, window: int, shared: bool
) -> None:
    asyncio.run(_checked(moves, stream=stream, window=window, shared=shared))


async def _checked(moves: list[list[str]], *, stream: bool, window: int, shared: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        quiet = Settings(watch=False, fsync=False, recall_deadline_ms=60_000)
        async with ReMe(Path(folder), settings=quiet) as reme:
            one = reme.middleware(mode="static")
            new = partial(reme.middleware, mode="static")
            talks = [
                Talk(f"s{n}", (lambda: one) if shared else new, stream, window)
                for n in range(len(moves))
            ]
            await play(talks, moves)
            gc.collect()  # generators nobody closed are closed by the loop
            await asyncio.sleep(0)
            for talk in talks:
                _check(talk, _logged(reme, talk.session_id))
            failures = (await reme.status()).failures
        assert not failures, failures


def _logged(reme: ReMe, session_id: str) -> list[LoggedMessage]:
    return list(reme._engine.components.logs.log(session_id).read().messages)


def _check(talk: Talk, logged: list[LoggedMessage]) -> None:
    asked = [item.message.text for item in logged if item.message.role == "user"]
    heard = [text.removesuffix(" and so on" * 40) for text in asked]
    assert Counter(heard) == Counter(talk.said), "a question is missing or is there twice"
    answers = [
        block.text
        for item in logged
        if item.message.role == "assistant"
        for block in item.message.blocks
        if block.type == "text"
    ]
    repeated = [text for text, times in Counter(answers).items() if times > 1]
    assert not repeated, repeated
    missing = talk.answers - set(answers)
    assert not missing, missing
    foreign = [t for t in [*heard, *answers] if not t.startswith(talk.session_id + " ")]
    assert not foreign, foreign
    calls = Counter(
        (block.type, block.id)
        for item in logged
        for block in item.message.blocks
        if block.type in ("tool_call", "tool_result")
    )
    assert not [key for key, times in calls.items() if times > 1], calls
