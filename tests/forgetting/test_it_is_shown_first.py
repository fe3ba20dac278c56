"""Nothing goes that was not shown, and showing changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentscope_reme import ReMe
from agentscope_reme.errors import BadInput, BadPath, Conflict, NotFound
from tests.forgetting.life import CARD, DAY, LOG, NODE, SHARED


def bytes_of(root: Path) -> dict[str, bytes]:
    """Every file but the index and the locks."""
    places = (p for p in root.rglob("*") if p.is_file())
    own = (p for p in places if not {"metadata", ".locks"} & set(p.relative_to(root).parts))
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in own}


async def test_a_look_lists_every_layer_and_changes_nothing(lived: ReMe, root: Path) -> None:
    before = bytes_of(root)
    result = await lived.forget(path=CARD)
    assert bytes_of(root) == before
    assert result.dry_run
    assert result.change_id == ""
    layers = {(part.layer, part.path) for part in result.parts}
    assert {
        ("turn", LOG),
        ("archive", "session/agentscope/gym.jsonl"),
        ("image", "session/images/gym/msg-6d31-image-2.png"),
        ("card", CARD),
        ("digest", NODE),
        ("topic", f"daily/{DAY}/interests.yaml"),
        ("link", f"daily/{DAY}.md"),
        ("link", SHARED),
    } == layers
    assert result.earlier["changes"] > 0
    assert result.earlier["versions"] > 0
    assert result.earlier["trash"] == 1
    assert "session/dialog/gym.jsonl:2-2" in result.answer
    assert "cannot be undone" in result.answer


async def test_what_is_forgotten_is_what_was_shown(lived: ReMe) -> None:
    shown = await lived.forget(path=CARD)
    done = await lived.forget(path=CARD, dry_run=False, plan_id=shown.plan_id)
    assert done.parts == shown.parts
    assert done.plan_id == shown.plan_id
    assert done.change_id
    assert (await lived.history(limit=1)).changes[0].change_id == done.change_id


async def test_something_new_in_between_is_no_surprise(lived: ReMe, root: Path) -> None:
    await lived.forget(path=CARD)
    await lived.write("digest/wiki/new.md", f"New.\n\n## Sources\n\n- [[{CARD}]]\n")
    before = bytes_of(root)
    with pytest.raises(Conflict, match="not what was shown before"):
        await lived.forget(path=CARD, dry_run=False)
    assert bytes_of(root) == before
    shown = await lived.forget(path=CARD)
    assert "digest/wiki/new.md" in {part.path for part in shown.parts}
    assert (await lived.forget(path=CARD, dry_run=False)).change_id


async def test_a_plan_of_another_request_is_refused(lived: ReMe) -> None:
    other = await lived.forget(path=NODE)
    with pytest.raises(Conflict):
        await lived.forget(path=CARD, dry_run=False, plan_id=other.plan_id)


async def test_a_query_takes_exact_matches_and_shows_what_is_similar(lived: ReMe) -> None:
    await lived.write("digest/wiki/opening.md", "The opening of the hall is at eight.")
    shown = await lived.forget(query="opens at seven")
    assert all("opens at seven" in part.text for part in shown.parts if part.layer == "statement")
    assert {part.path for part in shown.parts} >= {SHARED, f"daily/{DAY}/gym-hours.md"}
    assert "digest/wiki/opening.md" in {part.path for part in shown.similar}
    await lived.forget(query="opens at seven", dry_run=False)
    assert "eight" in (await lived.read("digest/wiki/opening.md")).content
    assert "opens at seven" not in (await lived.search("gym opens seven")).answer


async def test_part_of_a_word_is_no_match(lived: ReMe) -> None:
    await lived.write("digest/wiki/party.md", "The party was fun.")
    shown = await lived.forget(query="art")
    assert shown.parts == []
    assert shown.answer.startswith("Nothing to forget.")


async def test_words_in_another_order_go_only_after_they_were_shown(lived: ReMe) -> None:
    await lived.write("digest/personal/tea.md", "In the evening Mei drinks green tea.")
    with pytest.raises(Conflict, match="no text holds this phrase"):
        await lived.forget(query="tea green Mei", dry_run=False)
    shown = await lived.forget(query="tea green Mei")
    assert [part.path for part in shown.parts] == ["digest/personal/tea.md"]
    await lived.forget(query="tea green Mei", dry_run=False)
    assert (await lived.search("evening")).hits == []


async def test_forgetting_the_same_again_finds_nothing(lived: ReMe) -> None:
    await lived.forget(query="Quetzalcoatlus", dry_run=False)
    again = await lived.forget(query="Quetzalcoatlus", dry_run=False)
    assert again.success
    assert again.parts == []
    assert again.change_id == ""


async def test_requests_that_say_too_little_or_too_much_are_refused(lived: ReMe) -> None:
    for request in (
        {},
        {"path": CARD, "query": "x"},
        {"query": " "},
        {"query": "x" * 2001},
        {"query": "x", "end_line": 1},
    ):
        with pytest.raises(BadInput):
            await lived.forget(**request)
    with pytest.raises(BadInput, match="lines"):
        await lived.forget(path=CARD, start_line=5, end_line=999)
    with pytest.raises(NotFound):
        await lived.forget(path="daily/2026-06-20/nothing.md")
    for path in ("../x.md", "journal/2026-06.jsonl", "trash", "daily"):
        with pytest.raises(BadPath):
            await lived.forget(path=path)


async def test_lines_of_a_card_take_the_turns_that_only_they_speak_of(lived: ReMe) -> None:
    await lived.record(
        "trip",
        [
            {"id": "t1", "role": "user", "content": "We hike on the Brocken on Saturday."},
            {"id": "t2", "role": "user", "content": "The tent weighs three kilos."},
        ],
        distil=False,
    )
    path = f"daily/{DAY}/trip.md"
    await lived.write(
        path,
        "# Trip\n\n- A hike on the Brocken.\n- The tent weighs three kilos.\n",
        metadata={"session_id": "trip", "source_conversation": "[[session/dialog/trip.jsonl]]"},
    )
    lived.application.components.logs.log("trip").mark_distilled("t2", card=path)
    content = (await lived.read(path)).content.split("\n")
    line = next(n for n, text in enumerate(content, 1) if "Brocken" in text)
    shown = await lived.forget(path=path, start_line=line, end_line=line)
    assert [(p.layer, p.start_line) for p in shown.parts if p.layer == "turn"] == [("turn", 2)]
    await lived.forget(path=path, start_line=line, end_line=line, dry_run=False)
    assert (await lived.search("Brocken")).hits == []
    assert "tent weighs" in (await lived.read(path)).content
    assert (await lived.search("tent kilos", path_prefix="session/")).hits
