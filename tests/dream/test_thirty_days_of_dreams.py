"""Thirty days of notes and nightly dreams: the evidence stays, every statement leads back to it."""

from __future__ import annotations

import random
from collections.abc import Callable

from agentscope_reme import ReMe
from agentscope_reme.context.tokens import estimate_tokens
from agentscope_reme.files.wikilinks import parse_wikilinks
from agentscope_reme.steps.dream.statements import source_links, statements_of
from agentscope_reme.testing import FakeClock
from tests.dream.conftest import documents, note
from tests.dream.models import FACT, OLD, Dreamer

DAYS = 30
SUBJECTS = [
    f"Subject {word}" for word in ("Anna", "Bern", "Chess", "Diet", "Essay", "Farm", "Golf")
]
VALUES = [
    f"{adjective} {noun}" for adjective in ("slow", "quick", "blue") for noun in ("start", "end")
]
BUCKETS = ("personal", "procedure", "wiki")


async def test_thirty_days(open_memory: Callable[..., ReMe], clock: FakeClock) -> None:
    chance = random.Random(7)
    dreamer = Dreamer()
    clock.set("2026-05-20T23:00:00+02:00")
    daily: dict[str, bytes] = {}
    last: dict[str, str] = {}
    said: set[tuple[str, str]] = set()
    async with open_memory(dreamer) as reme:
        for _ in range(DAYS):
            day = clock.today().isoformat()
            for number in range(2):
                session = f"s{day}-{number}"
                await reme.record(session, [{"role": "user", "content": "hello"}], distil=False)
                subject = chance.choice(SUBJECTS)
                value = chance.choice(VALUES)
                bucket = BUCKETS[SUBJECTS.index(subject) % 3]
                path = await note(reme, day, f"talk-{number}", f"[{bucket}] {subject}: {value}")
                await reme.frontmatter_update(
                    path, {"source_conversation": f"[[session/dialog/{session}.jsonl]]"}
                )
                said.add((subject, value))
            before = notes(reme)
            result = await reme.auto_dream()
            assert result.success, result.answer
            assert result.agent_runs <= 1 + 2 * 5
            assert notes(reme) == before
            daily |= before
            clock.advance(days=1)
        while (await reme.auto_dream()).pending:
            pass
        for path in sorted(daily):
            last |= {name: value for _, name, value in FACT.findall(daily[path].decode())}
        await check_digest(reme, said, last)
        assert (await reme.doctor()).differences == []
        dreams = [c for c in (await reme.history(limit=1000)).changes if c.actor == "auto_dream"]
    assert len(dreams) == DAYS
    assert all(estimate_tokens(asked.text) < 4000 for asked in dreamer.asked)


async def check_digest(reme: ReMe, said: set[tuple[str, str]], last: dict[str, str]) -> None:
    files = documents(reme)
    nodes = [path for path in files if path.startswith("digest/")]
    assert len(nodes) == len(last)
    for path in nodes:
        text = files[path].decode()
        sources = source_links(text)
        assert sources
        for source in sources:
            assert source.startswith("daily/")
            behind = parse_wikilinks(files[source].decode())
            assert any(link.target_path in files for link in behind)  # the session it came from
        for statement in statements_of(text):
            assert statement.observed
            subject, _, value = statement.core.partition(": ")
            assert (subject, value) in {(name.casefold(), told) for name, told in said}
            assert {f"daily/{day}" for day in statement.observed} <= {
                source.rpartition("/")[0] for source in sources
            }
        holding = list(OLD.finditer(text))
        assert {match["value"] for match in holding} == {last[match["name"]] for match in holding}


def notes(reme: ReMe) -> dict[str, bytes]:
    return {
        path: data
        for path, data in documents(reme).items()
        if path.startswith("daily/") and path.endswith(".md")
    }
