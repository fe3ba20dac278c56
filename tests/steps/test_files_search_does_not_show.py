"""A file outside the places search looks into is kept, and the answer says that it is not shown."""

from __future__ import annotations

from agentscope_reme import ReMe


async def test_a_file_written_elsewhere_is_said_not_to_be_searched(reme: ReMe) -> None:
    written = await reme.write("notes/plan.md", "the zebra plan")
    assert not written.indexed
    assert not (await reme.stat("notes/plan.md")).indexed
    assert "search does not show it" in written.answer
    assert "daily/, digest/, resource/ and memory/" in written.answer
    assert (await reme.search("zebra")).hits == []


async def test_so_is_what_is_edited_moved_and_brought_back_there(reme: ReMe) -> None:
    await reme.write("digest/wiki/plan.md", "the zebra plan")
    moved = await reme.move("digest/wiki/plan.md", "plain/plan.md")
    assert not moved.indexed
    edited = await reme.edit("plain/plan.md", "zebra", "lion")
    assert not edited.indexed
    undone = await reme.undo(edited.change_id)
    assert not undone.indexed
    assert "search does not show" in undone.answer
    back = await reme.move("plain/plan.md", "digest/wiki/plan.md")
    assert back.indexed
    assert "search does not show" not in back.answer


async def test_of_a_moved_folder_the_files_are_counted(reme: ReMe) -> None:
    await reme.write("digest/wiki/a/one.md", "zebra")
    await reme.write("digest/wiki/a/two.md", "zebra")
    moved = await reme.move("digest/wiki/a", "plain")
    assert not moved.indexed
    assert "2 of these files" in moved.answer


async def test_what_is_searched_and_what_is_gone_is_said_to_be_in_step(reme: ReMe) -> None:
    assert (await reme.write("digest/wiki/a.md", "zebra")).indexed
    assert (await reme.delete("digest/wiki/a.md")).indexed
    await reme.write("notes/plan.md", "zebra")
    assert "search does not show" not in (await reme.delete("notes/plan.md")).answer
