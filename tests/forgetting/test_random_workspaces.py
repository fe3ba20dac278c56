"""Whatever cards, sessions and digests share: what is forgotten is gone, what others say stays."""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import dataclass
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentscope_reme import ReMe, Settings
from agentscope_reme.testing import FakeClock
from tests.forgetting.life import leaks

DAY = "2026-06-20"
FACTS = [
    f"fact-{name}-{number}"
    for number, name in enumerate(("alder", "birch", "cedar", "dogwood"), 10)
]
QUIET = Settings(watch=False, fsync=False)


@dataclass(frozen=True)
class World:
    """Which facts every session and digest node tells; a node rests on the cards it names."""

    sessions: tuple[tuple[int, ...], ...]
    nodes: tuple[tuple[int, ...], ...]
    victim: int


facts = st.lists(st.integers(0, len(FACTS) - 1), min_size=1, max_size=3, unique=True).map(tuple)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    sessions = tuple(draw(st.lists(facts, min_size=1, max_size=3)))
    number = st.integers(0, len(sessions) - 1)
    resting = st.lists(number, min_size=1, max_size=2, unique=True).map(tuple)
    return World(sessions, tuple(draw(st.lists(resting, max_size=3))), draw(number))


def card(number: int) -> str:
    return f"daily/{DAY}/card-{number}.md"


async def build(reme: ReMe, world: World) -> None:
    for number, told in enumerate(world.sessions):
        session = f"s{number}"
        turns = [
            {"id": f"{session}-{n}", "role": "user", "content": f"I say {FACTS[fact]} here."}
            for n, fact in enumerate(told)
        ]
        await reme.record(session, turns, distil=False)
        body = "\n".join(f"- Noted {FACTS[fact]}." for fact in told)
        source = {
            "session_id": session,
            "source_conversation": f"[[session/dialog/{session}.jsonl]]",
        }
        await reme.write(card(number), f"# Card {number}\n\n{body}\n", metadata=source)
        log = reme.application.components.logs.log(session)
        written = log.mark_distilled(turns[-1]["id"], card=card(number))
        reme.application.components.vault.log_changed(log.path, written)
    for number, cards in enumerate(world.nodes):
        told_here = sorted({fact for one in cards for fact in world.sessions[one]})
        body = "\n".join(f"- Known: {FACTS[fact]}." for fact in told_here)
        sources = "\n".join(f"- [[{card(one)}]]" for one in cards)
        await reme.write(
            f"digest/wiki/node-{number}.md", f"# Node\n\n{body}\n\n## Sources\n\n{sources}\n"
        )


async def check(root: Path, world: World) -> None:
    clock = FakeClock("2026-06-20T09:30:00", timezone="Europe/Berlin")
    async with ReMe(root, settings=QUIET, clock=clock) as reme:
        await build(reme, world)
        victim = world.victim
        shown = await reme.forget(path=card(victim))
        done = await reme.forget(path=card(victim), dry_run=False)
        assert done.parts == shown.parts
        alone = [cards for cards in world.nodes if set(cards) == {victim}]
        mixed = [cards for cards in world.nodes if victim in cards and set(cards) != {victim}]
        told_elsewhere = {
            fact for n, told in enumerate(world.sessions) if n != victim for fact in told
        } | {fact for cards in mixed for one in cards for fact in world.sessions[one]}
        gone = [FACTS[f] for f in world.sessions[victim] if f not in told_elsewhere]
        assert leaks(root, gone) == []
        for fact in told_elsewhere:
            assert (await reme.search(FACTS[fact])).hits
        for number, cards in enumerate(world.nodes):
            stands = (await reme.stat(f"digest/wiki/node-{number}.md")).exists
            assert stands is (cards not in alone)
        assert (await reme.doctor()).differences == []
        for path in (part.path for part in done.parts if part.layer == "turn"):
            assert path == f"session/dialog/s{victim}.jsonl"
        assert (await reme.status()).pending_sessions == []
        assert (await reme.forget(query=FACTS[world.sessions[victim][0]])).success


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(worlds())
def test_what_is_forgotten_is_gone_and_what_others_say_stays(world: World) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(check(Path(folder) / "memory", world))


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(worlds(), st.sampled_from(FACTS))
def test_a_query_leaves_no_byte_of_its_word(world: World, word: str) -> None:
    async def run(root: Path) -> None:
        async with ReMe(root, settings=QUIET, clock=FakeClock()) as reme:
            await build(reme, world)
            await reme.forget(query=word, dry_run=False)
            assert leaks(root, [word]) == []
            assert (await reme.doctor()).differences == []

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(Path(folder) / "memory"))
