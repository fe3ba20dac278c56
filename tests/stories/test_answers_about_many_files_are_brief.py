"""What is told of a thousand files fits into an answer; what is left out is counted."""

from __future__ import annotations

from pathlib import Path

from agentscope_reme import ReMe, Settings
from agentscope_reme.tools.answer_limit import byte_length

BRIEF = Settings(fsync=False, watch=False, tool_answer_bytes=2_000)


async def test_history_diff_and_undo_stay_within_an_answer(tmp_path: Path) -> None:
    async with ReMe(tmp_path, settings=BRIEF) as reme:
        for number in range(60):
            await reme.write(f"digest/wiki/n{number}.md", f"[[digest/wiki/n{number + 1}.md]]")
        moved = await reme.move("digest/wiki", "digest/other")
        history = await reme.history()
        assert byte_length(history.answer) <= 2_000
        assert "left out. Name a path, or ask for fewer" in history.answer
        assert len(history.changes) == 50
        diff = await reme.diff(moved.change_id)
        assert byte_length(diff.answer) <= 2_000
        assert "[Cut at 2000 bytes. `read` the files" in diff.answer
        undone = await reme.undo(moved.change_id)
        assert byte_length(undone.answer) <= 2_000
        assert "and 50 more" in undone.answer


async def test_undo_says_what_is_back_and_what_is_gone(tmp_path: Path) -> None:
    async with ReMe(tmp_path, settings=BRIEF) as reme:
        created = await reme.write("digest/b.md", "zebra")
        moved = await reme.move("digest/b.md", "digest/a.md")
        back = await reme.undo(moved.change_id)
        assert "Restored: digest/b.md. Gone: digest/a.md." in back.answer
        assert back.path == "digest/b.md"
        assert back.content_hash == created.content_hash
        gone = await reme.undo(created.change_id)
        assert gone.answer == f"Undone: {created.change_id}. Gone: digest/b.md."
        assert gone.content_hash is None


async def test_what_looks_at_everything_stays_within_an_answer(tmp_path: Path) -> None:
    async with ReMe(tmp_path, settings=BRIEF) as reme:
        for number in range(60):
            text = f"[[digest/wiki/gone{number}.md]] [[digest/wiki/n0.md]]"
            await reme.write(
                f"digest/wiki/n{number}.md", text, metadata={"tags": [f"tag {number}"]}
            )
            (tmp_path / f"digest/wiki/out{number}.md").symlink_to(tmp_path.parent / "x.md")
            await reme.record(f"session {number}", [{"role": "user", "content": "hello"}])
        await reme.reindex()
        calls = [reme.doctor, reme.status, reme.graph_snapshot, reme.list_tags, reme.auto_memory]
        for call in calls:
            result = await call()
            assert byte_length(result.answer) <= 2_000, call.__name__
        assert "left out" in (await reme.doctor()).answer
        assert len((await reme.doctor()).differences) == 60
        around = await reme.traverse("digest/wiki/n0.md")
        assert byte_length(around.answer) <= 2_000
        assert len(around.edges) == 61
