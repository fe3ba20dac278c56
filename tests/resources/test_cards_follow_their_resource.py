"""A changed resource changes its card, a moved one keeps it, a deleted one takes it along."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from agentscope_reme import ReMe
from agentscope_reme.files.documents import MarkdownDocument
from agentscope_reme.schema import content_hash
from agentscope_reme.testing import ScriptedChatModel, ToolCall
from tests.resources.conftest import Put
from tests.resources.parts import CARD, DAY, KEEPS, REPORT, edit, quoted

OLD, NEW = "Solar gave 12 %.", "Solar gave 15 %."


async def test_a_changed_resource_edits_its_card_and_loses_no_link(
    open_memory: Callable[..., ReMe], put: Put, root: Path
) -> None:
    rewrite = ToolCall("write", {"path": CARD, "name": "sun", "content": "Now 15 %, was 12 %."})
    model = ScriptedChatModel([*KEEPS, rewrite, "Updated."])
    async with open_memory(model) as reme:
        put(f"{DAY}/report.md", OLD)
        await reme.auto_resource()
        await reme.edit(CARD, "# Solar report", "# Solar report\n\nSee [[digest/wiki/sun.md]].")
        put(f"{DAY}/report.md", NEW)
        result = await reme.auto_resource()
        again = await reme.auto_resource()
    document = MarkdownDocument.parse((root / CARD).read_bytes())
    assert (result.cards[0].action, result.cards[0].path) == ("updated", CARD)
    assert document.front_matter["source_hash"] == content_hash(NEW.encode())
    assert document.front_matter["source_resource"] == f"[[{REPORT}]]"
    assert "15 %" in document.body
    assert "[[digest/wiki/sun.md]]" in document.body  # the model dropped it
    assert document.front_matter["memory_tags"] == ["solar_power"]
    asked = model.requests[2]
    assert set(asked.tool_names) == {"read", "edit", "frontmatter_update", "write"}
    assert quoted(asked) == NEW
    assert "The report says: solar gave 12 %" in asked.text  # the card as it is
    assert again.unchanged == 1


async def test_a_change_that_adds_nothing_still_settles(
    open_memory: Callable[..., ReMe], put: Put, root: Path
) -> None:
    model = ScriptedChatModel([*KEEPS, "The card says it all."])
    async with open_memory(model) as reme:
        put(f"{DAY}/report.md", OLD)
        await reme.auto_resource()
        before = MarkdownDocument.parse((root / CARD).read_bytes()).body
        put(f"{DAY}/report.md", f"{OLD}\n")
        await reme.auto_resource()
        again = await reme.auto_resource()
    assert MarkdownDocument.parse((root / CARD).read_bytes()).body == before
    assert again.unchanged == 1


async def test_a_card_of_an_older_library_is_taken_over(
    open_memory: Callable[..., ReMe], put: Put, root: Path
) -> None:
    model = ScriptedChatModel([edit("Old words.", "New words.", f"daily/{DAY}/report.md"), "Done."])
    async with open_memory(model) as reme:
        put(f"{DAY}/report.md", NEW)
        await reme.write(
            f"daily/{DAY}/report.md", "Old words.", metadata={"source_resource": f"[[{REPORT}]]"}
        )
        result = await reme.auto_resource()
    assert [(c.action, c.path) for c in result.cards] == [("updated", f"daily/{DAY}/report.md")]
    assert "New words." in (root / f"daily/{DAY}/report.md").read_text("utf-8")


async def test_the_card_of_a_deleted_resource_goes_to_the_trash(
    open_memory: Callable[..., ReMe], put: Put, root: Path
) -> None:
    model = ScriptedChatModel(KEEPS)
    async with open_memory(model) as reme:
        put(f"{DAY}/report.md", OLD)
        await reme.auto_resource()
        await reme.write("digest/wiki/sun.md", f"As [[{CARD}]] says.")
        (root / REPORT).unlink()
        result = await reme.auto_resource()
        page = (root / f"daily/{DAY}.md").read_text("utf-8")
        found = await reme.search("solar", path_prefix="daily/")
        again = await reme.auto_resource()
        [change] = (await reme.history(CARD, limit=1)).changes
        await reme.undo(change.change_id)
        kept = await reme.auto_resource()  # a person brought it back: it stays
    [card] = result.cards
    assert (card.action, card.path, card.resource) == ("removed", CARD, REPORT)
    assert [link.source_path for link in card.inbound] == ["digest/wiki/sun.md"]
    assert "still linked from digest/wiki/sun.md" in result.answer
    assert CARD not in page
    assert CARD not in [hit.path for hit in found.hits]
    assert (again.cards, kept.cards) == ([], [])
    assert (root / CARD).is_file()


async def test_a_resource_that_is_named_as_deleted(
    open_memory: Callable[..., ReMe], put: Put, root: Path
) -> None:
    model = ScriptedChatModel(KEEPS)
    async with open_memory(model) as reme:
        path = put(f"{DAY}/report.md", OLD)
        await reme.auto_resource([{"file_path": path, "change": "added"}])
        still = await reme.auto_resource([{"path": path, "change": "deleted"}])  # it is there
        (root / path).unlink()
        gone = await reme.auto_resource([{"path": path, "change": "deleted"}])
        nothing = await reme.auto_resource([{"path": path, "change": "deleted"}])
        vanished = await reme.auto_resource([{"path": path, "change": "modified"}])
    assert still.unchanged == 1
    assert [card.action for card in gone.cards] == ["removed"]
    assert (nothing.success, nothing.cards, nothing.failed) == (True, [], [])
    assert [failure.item for failure in vanished.failed] == [path]


async def test_a_resource_moved_by_the_library_keeps_its_card(
    open_memory: Callable[..., ReMe], put: Put, root: Path
) -> None:
    model = ScriptedChatModel(KEEPS)
    async with open_memory(model) as reme:
        put(f"{DAY}/report.md", OLD)
        await reme.auto_resource()
        await reme.move(REPORT, "resource/2026-06-19/renamed.md")
        result = await reme.auto_resource()
    assert (result.unchanged, result.cards) == (1, [])
    assert "[[resource/2026-06-19/renamed.md]]" in (root / CARD).read_text("utf-8")


async def test_a_resource_moved_by_hand_keeps_its_card(
    open_memory: Callable[..., ReMe], put: Put, root: Path
) -> None:
    model = ScriptedChatModel(KEEPS)
    moved = "resource/2026-06-19/new [name].md"
    async with open_memory(model) as reme:
        put(f"{DAY}/report.md", OLD)
        await reme.auto_resource()
        await reme.write("digest/wiki/sun.md", f"From [[{REPORT}]].")
        put("2026-06-19/plain.md", OLD)
        (root / REPORT).unlink()
        first = await reme.auto_resource([REPORT])  # only the old place is named
        (root / "resource/2026-06-19/plain.md").rename(root / moved)
        second = await reme.auto_resource()
        last = await reme.auto_resource()
        linking = (root / "digest/wiki/sun.md").read_text("utf-8")
    assert [(c.action, c.path, c.previous) for c in first.cards] == [("moved", CARD, REPORT)]
    assert "[[resource/2026-06-19/plain.md]]" in linking
    assert [(c.action, c.resource) for c in second.cards] == [("moved", moved)]
    assert (last.unchanged, last.cards, last.failed) == (1, [], [])
    model.assert_exhausted()


async def test_a_copy_is_a_resource_of_its_own(open_memory: Callable[..., ReMe], put: Put) -> None:
    model = ScriptedChatModel(KEEPS + KEEPS)
    async with open_memory(model) as reme:
        put(f"{DAY}/report.md", OLD)
        await reme.auto_resource()
        put(f"{DAY}/copy.md", OLD)
        result = await reme.auto_resource()
    assert [(c.resource, c.action) for c in result.cards] == [
        (f"resource/{DAY}/copy.md", "created")
    ]


async def test_a_drive_that_is_not_mounted_takes_no_card_along(
    open_memory: Callable[..., ReMe], put: Put, root: Path
) -> None:
    async with open_memory(ScriptedChatModel(KEEPS * 6)) as reme:
        paths = [put(f"{DAY}/{n}.md", f"text {n}") for n in range(6)]
        await reme.auto_resource()
        shutil.move(root / "resource", root / "unmounted")
        (root / "resource").mkdir()
        gone = await reme.auto_resource()
        assert len(list((root / f"daily/{DAY}").iterdir())) == 6
        assert "as when a drive is not mounted" in gone.answer
        assert (gone.success, [f.item for f in gone.failed]) == (False, paths)
        named = await reme.auto_resource([f"resource/{DAY}"])  # deleted on purpose
    assert [card.action for card in named.cards] == ["removed"] * 6


async def test_an_edit_of_a_person_in_between_is_kept(
    open_memory: Callable[..., ReMe], put: Put, root: Path
) -> None:
    def meanwhile(_: object) -> ToolCall:
        text = (root / CARD).read_text("utf-8")
        (root / CARD).write_text(f"{text}\nMine.\n", "utf-8")
        return edit("12 %", "15 %")

    model = ScriptedChatModel(
        [*KEEPS, edit("12 %", "14 %"), meanwhile, "Done.", edit("12 %", "15 %"), "Done."]
    )
    async with open_memory(model) as reme:
        put(f"{DAY}/report.md", OLD)
        await reme.auto_resource()
        put(f"{DAY}/report.md", NEW)
        result = await reme.auto_resource()
    card = (root / CARD).read_text("utf-8")
    assert result.success
    assert ("15 %" in card, "Mine." in card) == (True, True)


async def test_a_pinned_card_stands_still(
    open_memory: Callable[..., ReMe], put: Put, root: Path
) -> None:
    model = ScriptedChatModel(KEEPS)
    async with open_memory(model) as reme:
        put(f"{DAY}/report.md", OLD)
        await reme.auto_resource()
        await reme.frontmatter_update(CARD, {"pinned": True})
        before = (root / CARD).read_bytes()
        put(f"{DAY}/report.md", NEW)
        changed = await reme.auto_resource()
        (root / REPORT).unlink()
        gone = await reme.auto_resource()
    assert (root / CARD).read_bytes() == before
    assert [item.item for item in changed.skipped] == [REPORT]
    assert [item.item for item in gone.skipped] == [REPORT]
    assert (changed.success, gone.success) == (True, True)


async def test_a_pinned_page_of_a_day_keeps_no_card_away(
    open_memory: Callable[..., ReMe], put: Put, root: Path
) -> None:
    page = f"daily/{DAY}.md"
    async with open_memory(ScriptedChatModel(KEEPS)) as reme:
        await reme.write(page, "My own page.", metadata={"pinned": True})
        before = (root / page).read_bytes()
        put(f"{DAY}/report.md", OLD)
        made = await reme.auto_resource()
        (root / REPORT).unlink()
        gone = await reme.auto_resource()
    assert [card.action for card in [*made.cards, *gone.cards]] == ["created", "removed"]
    assert (root / page).read_bytes() == before


async def test_two_cards_of_one_resource_are_left_alone(
    open_memory: Callable[..., ReMe], put: Put, root: Path
) -> None:
    model = ScriptedChatModel(KEEPS)
    async with open_memory(model) as reme:
        put(f"{DAY}/report.md", OLD)
        await reme.auto_resource()
        shutil.copy(root / CARD, root / f"daily/{DAY}/copy.md")
        put(f"{DAY}/report.md", NEW)
        result = await reme.auto_resource()
    assert [failure.item for failure in result.failed] == [REPORT]
    assert "2 cards say they are made from it" in result.answer


async def test_a_card_with_broken_front_matter_gets_no_second_one_beside_it(
    open_memory: Callable[..., ReMe], put: Put, root: Path
) -> None:
    model = ScriptedChatModel(KEEPS)
    async with open_memory(model) as reme:
        put(f"{DAY}/report.md", OLD)
        await reme.auto_resource()
        text = (root / CARD).read_text("utf-8")
        (root / CARD).write_text(text.replace("name: ", "name: [", 1), "utf-8")
        put(f"{DAY}/report.md", NEW)
        result = await reme.auto_resource()
        (root / REPORT).unlink()
        gone = await reme.auto_resource()
    assert [failure.item for failure in result.failed] == [REPORT]
    assert "is damaged" in result.answer
    assert gone.cards == []
    assert [path.name for path in (root / f"daily/{DAY}").iterdir()] == ["solar-report.md"]
