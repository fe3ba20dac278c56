"""What rests on other sources stays, without a dangling link; pinned files are only shown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from agentscope_reme import ReMe
from tests.forgetting.life import CARD, DAY, LOG, NODE, SHARED, leaks


async def test_a_node_with_another_source_keeps_its_statements(lived: ReMe) -> None:
    result = await lived.forget(path=CARD, dry_run=False)
    text = (await lived.read(SHARED)).content
    assert "The gym opens at seven, see the locker." in text
    assert CARD not in text
    assert f"[[daily/{DAY}/gym-hours.md]]" in text
    assert SHARED in {part.path for part in result.kept}
    assert (await lived.doctor()).differences == []


async def test_the_answer_says_how_to_forget_what_stays_too(lived: ReMe, root: Path) -> None:
    await lived.write(
        SHARED,
        f"# Gym\n\n- [[{CARD}]]\n\nOpens at seven.\n\nQuetzalcoatlus opens with zeta-4711.\n\n"
        f"## Sources\n\n- [[{CARD}]]\n- [[daily/{DAY}/gym-hours.md]]\n",
    )
    shown = await lived.forget(path=CARD)
    (row,) = re.findall(r"to forget it too: (forget\(.*\))", shown.answer)
    assert row == f"forget(path={SHARED!r}, start_line=7, end_line=7, dry_run=False)"
    done = await lived.forget(path=CARD, dry_run=False)
    (row,) = re.findall(r"to forget it too: (forget\(.*\))", done.answer)
    await eval(row, {"forget": lived.forget})
    assert "zeta-4711" not in (await lived.read(SHARED)).content
    assert "Sources" in (await lived.read(SHARED)).content
    assert leaks(root) == []


async def test_a_statement_that_names_its_only_source_goes_with_it(lived: ReMe) -> None:
    await lived.write(
        "digest/personal/mixed.md",
        "# Mixed\n\n"
        f"- Swims on Mondays ([[{CARD}]]) (observed 2026-06-20)\n"
        f"- Rows on Fridays ([[{CARD}]]; [[daily/{DAY}/gym-hours.md]])\n"
        f"- Runs on Sundays ([[daily/{DAY}/gym-hours.md]])\n\n"
        f"## Sources\n\n- [[{CARD}]]\n- [[daily/{DAY}/gym-hours.md]]\n",
    )
    await lived.forget(path=CARD, dry_run=False)
    text = (await lived.read("digest/personal/mixed.md")).content
    assert "Swims" not in text
    assert f"- Rows on Fridays ([[daily/{DAY}/gym-hours.md]])" in text
    assert "- Runs on Sundays" in text
    assert CARD not in text


async def test_a_chain_of_nodes_goes_to_its_end(lived: ReMe) -> None:
    await lived.write("digest/wiki/second.md", f"Second hand.\n\n## Sources\n\n- [[{NODE}]]\n")
    await lived.forget(path=CARD, dry_run=False)
    assert not (await lived.stat("digest/wiki/second.md")).exists


async def test_a_digest_node_goes_alone(lived: ReMe) -> None:
    shown = await lived.forget(path=NODE)
    assert {part.path for part in shown.parts if part.layer != "link"} == {NODE}
    await lived.forget(path=NODE, dry_run=False)
    assert (await lived.stat(CARD)).exists
    assert "[[digest/personal" not in (await lived.read(SHARED)).content


async def test_a_resource_takes_its_card_along(lived: ReMe) -> None:
    await lived.write("resource/2026-06-20/report.txt", "Boiling point of helium.")
    card = f"daily/{DAY}/report.md"
    source = {"source_resource": "[[resource/2026-06-20/report.txt]]", "source_hash": "0"}
    await lived.write(card, "# Report\n\nHelium boils early.", metadata=source)
    for path in (card, "resource/2026-06-20/report.txt"):
        shown = await lived.forget(path=path)
        assert {(p.layer, p.path) for p in shown.parts if p.layer != "link"} == {
            ("card", card),
            ("resource", "resource/2026-06-20/report.txt"),
        }


async def test_turns_that_made_no_part_of_a_card_stay(lived: ReMe) -> None:
    more = [{"id": "m3", "role": "user", "content": "The shower is cold."}]
    await lived.record("gym", more, distil=False)
    await lived.forget(path=CARD, dry_run=False)
    assert (await lived.search("shower cold")).hits
    assert (await lived.status()).pending_sessions == ["gym", "other"]


async def test_a_card_keeps_what_other_turns_say(lived: ReMe) -> None:
    more = [{"id": "m3", "role": "user", "content": "The shower is cold."}]
    await lived.record("gym", more, distil=False)
    text = (await lived.read(CARD)).content
    await lived.write(CARD, text.rstrip() + "\n- The shower is cold.\n")
    lived.application.components.logs.log("gym").mark_distilled("m3", card=CARD)
    await lived.forget(path=LOG, start_line=2, end_line=3, dry_run=False)
    left = [p for p in (await lived.list(f"daily/{DAY}")).entries if "gym-hours" not in p.path]
    texts = [(await lived.read(entry.path)).content for entry in left if entry.path.endswith(".md")]
    assert any("The shower is cold." in text for text in texts)
    assert not any("zeta-4711" in text for text in texts)


@pytest.mark.parametrize("path", [NODE, SHARED])
async def test_a_pinned_file_is_shown_and_stays(lived: ReMe, root: Path, path: str) -> None:
    await lived.frontmatter_update(path, {"pinned": True})
    before = (root / path).read_bytes()
    shown = await lived.forget(path=CARD)
    assert path not in {part.path for part in shown.parts}
    assert "pinned" in next(part.reason for part in shown.kept if part.path == path)
    await lived.forget(path=CARD, dry_run=False)
    assert (root / path).read_bytes() == before
    queried = await lived.forget(query="gym opens at seven")
    assert path not in {part.path for part in queried.parts}


async def test_a_pinned_file_goes_when_it_is_named(lived: ReMe) -> None:
    await lived.frontmatter_update(NODE, {"pinned": True})
    folder = await lived.forget(path="digest/personal")
    assert NODE not in {part.path for part in folder.parts}
    await lived.forget(path=NODE, dry_run=False)
    assert not (await lived.stat(NODE)).exists
