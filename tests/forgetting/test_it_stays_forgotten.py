"""Nothing brings it back: no resubmission, no catch-up, no repeat of a request, no undo."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme import Message, ReMe
from agentscope_reme.errors import Conflict, NotFound
from agentscope_reme.testing import ScriptedChatModel
from tests.claude_code.transcripts import SESSION, row
from tests.forgetting.life import CARD, LOG, NODE, TALK, leaks


async def test_the_same_messages_stay_forgotten(lived: ReMe, root: Path) -> None:
    await lived.forget(path=CARD, dry_run=False)
    again = await lived.record("gym", TALK, distil=False)
    assert (again.appended, again.duplicates) == (0, 2)
    await lived.archive("gym", TALK)
    edited = [{**TALK[1], "content": "The locker Quetzalcoatlus, code zeta-4711, is new."}]
    assert (await lived.record("gym", edited, distil=False)).appended == 0
    await lived.auto_memory(TALK, session_id="gym", include_images=True)
    assert leaks(root) == []
    assert not (root / "session/images/gym").exists()


async def test_so_do_messages_without_an_id(open_memory: Callable[..., ReMe], root: Path) -> None:
    talk = [
        {"role": "user", "content": "First, the weather."},
        {"role": "user", "content": "The code is zeta-4711."},
        {"role": "user", "content": "Last, the weather again."},
    ]
    async with open_memory() as reme:
        await reme.record("gym", talk, distil=False)
        await reme.forget(query="zeta-4711", dry_run=False)
        again = await reme.record("gym", talk, distil=False)
        assert (again.appended, again.duplicates) == (0, 3)
        more = await reme.record("gym", [*talk, {"role": "user", "content": "New."}], distil=False)
        assert (more.appended, more.duplicates) == (1, 3)
        later = [*talk, {"role": "user", "content": "New."}, talk[1]]
        said_again = await reme.record("gym", later, distil=False)
        assert said_again.appended == 1  # said once more, later: that is new
    assert leaks(root)


async def test_with_a_time_the_same_words_stay_forgotten(
    open_memory: Callable[..., ReMe], root: Path
) -> None:
    said = {"role": "user", "content": "It is zeta-4711.", "created_at": "2026-06-20T08:00:00"}
    async with open_memory() as reme:
        await reme.record("gym", [said], distil=False)
        await reme.forget(query="zeta-4711", dry_run=False)
        assert (await reme.record("gym", [said], distil=False)).appended == 0
        assert leaks(root) == []


async def test_the_cursor_stays_where_it_was(
    lived: ReMe, root: Path, open_memory: Callable[..., ReMe]
) -> None:
    await lived.forget(path=CARD, dry_run=False)
    assert (await lived.status()).pending_sessions == ["other"]
    await lived.close()
    model = ScriptedChatModel(["Nothing to keep."])
    async with open_memory(model) as reme:
        result = await reme.auto_memory(session_id="gym")
        assert result.success
        assert result.path is None
        await reme.record("gym", [{"id": "m9", "role": "user", "content": "Hello."}], distil=False)
        assert (await reme.auto_memory(session_id="gym")).success
    assert "zeta" not in model.requests[0].text
    assert leaks(root) == []


async def test_a_repeated_request_is_told_that_it_was_forgotten(lived: ReMe, root: Path) -> None:
    await lived.forget(path=CARD, dry_run=False)
    again = await lived.auto_memory(TALK, session_id="gym", include_images=True, request_id="r1")
    assert again.success
    assert again.path is None
    assert "forgotten" in again.answer
    assert leaks(root) == []


async def test_a_transcript_that_still_holds_it_brings_nothing_back(
    open_memory: Callable[..., ReMe], root: Path, tmp_path: Path
) -> None:
    projects = tmp_path / "projects/launch"
    projects.mkdir(parents=True)
    rows = [
        row("u1", "user", "My locker code is zeta-4711.", at="10:00:00"),
        row(
            "a1",
            "assistant",
            [{"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "codes.md"}}],
            at="10:00:01",
        ),
        row(
            "u2",
            "user",
            [{"type": "tool_result", "tool_use_id": "t1", "content": "codes: zeta-4711"}],
            at="10:00:02",
        ),
        row("u3", "user", "What about lunch?", at="10:00:03"),
    ]
    (projects / f"{SESSION}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    folder = tmp_path / "projects"
    async with open_memory() as reme:
        await reme.auto_memory_cc(session_id=SESSION, projects_dir=folder)
        await reme.forget(query="zeta-4711", dry_run=False)
        assert leaks(root) == []
        await reme.auto_memory_cc(session_id=SESSION, projects_dir=folder)
        assert leaks(root) == []
        assert (await reme.search("lunch")).hits


async def test_earlier_changes_can_be_listed_and_not_undone(lived: ReMe, root: Path) -> None:
    before = (await lived.history()).changes
    made = [change for change in before if CARD in change.paths or NODE in change.paths]
    assert made
    await lived.forget(path=CARD, dry_run=False)
    listed = {change.change_id: change for change in (await lived.history()).changes}
    assert set(listed) >= {change.change_id for change in before}
    for change in made:
        told = listed[change.change_id]
        assert told.state == "forgotten"
        assert CARD not in told.paths
        with pytest.raises(NotFound, match="was forgotten"):
            await lived.undo(change.change_id)
        assert "forgotten" in (await lived.diff(change.change_id)).answer
    assert leaks(root) == []


async def test_forgetting_itself_cannot_be_undone(lived: ReMe, root: Path) -> None:
    done = await lived.forget(path=CARD, dry_run=False)
    with pytest.raises(NotFound, match="cannot be brought back"):
        await lived.undo(done.change_id)
    assert leaks(root) == []


async def test_other_changes_can_still_be_undone(lived: ReMe) -> None:
    change = await lived.write("digest/wiki/plain.md", "One.")
    second = await lived.write("digest/wiki/plain.md", "Two.")
    await lived.forget(path=CARD, dry_run=False)
    await lived.undo(second.change_id)
    assert (await lived.read("digest/wiki/plain.md")).content.strip() == "One."
    await lived.undo((await lived.history(limit=1)).changes[0].change_id)
    assert change.change_id
    assert (await lived.read("digest/wiki/plain.md")).content.strip() == "Two."


async def test_the_log_stays_a_log(lived: ReMe, root: Path) -> None:
    await lived.forget(path=LOG, start_line=2, end_line=2, dry_run=False)
    lines = [json.loads(line) for line in (root / LOG).read_text().splitlines()]
    assert [line.get("type", "message") for line in lines][:3] == [
        "session",
        "forgotten",
        "message",
    ]
    log = lived.application.components.logs.log("gym")
    assert [logged.id for logged in log.read().messages] == ["m2"]
    assert log.pending() == []
    assert log.read().unreadable == ()


async def test_a_part_takes_the_whole_message_out_of_the_archive(
    open_memory: Callable[..., ReMe], root: Path
) -> None:
    parts = [
        {"id": "m1:aa", "role": "assistant", "content": "The code is zeta-4711."},
        {"id": "m1:bb", "role": "assistant", "content": "Lunch is at noon."},
    ]
    whole = {"id": "m1", "role": "assistant", "content": "The code is zeta-4711. Lunch is at noon."}
    async with open_memory() as reme:
        await reme.record("gym", parts, distil=False)
        await reme.archive("gym", [whole])
        await reme.forget(path=LOG, start_line=2, end_line=2, dry_run=False)
        assert leaks(root) == []
        assert (await reme.search("lunch")).hits
        await reme.archive("gym", [whole])
        assert leaks(root) == []


async def test_a_conversation_that_goes_on_does_not_keep_it(lived: ReMe, root: Path) -> None:
    """Turns that arrive between the look and the locks stay; what repeats it is looked at again."""
    vault = lived.application.components.vault
    logs, forget = lived.application.components.logs, vault.forget
    late = [Message.from_dict({"role": "user", "content": "Meanwhile.", "id": "late"})]
    told = [Message.from_dict({"role": "user", "content": "It is zeta-4711.", "id": "told"})]

    def slow(*given: Any, **named: Any) -> Any:
        if late or told:
            logs.log("gym").append((late or told).copy())
            (late or told).clear()
        return forget(*given, **named)

    vault.forget = slow
    await lived.forget(path=LOG, dry_run=False)
    assert not late
    assert told
    vault.forget = forget
    said = [logged.message.text for logged in logs.log("gym").read().messages]
    assert said == ["Meanwhile."]
    assert leaks(root) == []
    shown = await lived.forget(query="Meanwhile")
    vault.forget = slow
    told[0] = Message.from_dict({"role": "user", "content": "Meanwhile again.", "id": "told"})
    with pytest.raises(Conflict):
        await lived.forget(query="Meanwhile", dry_run=False, plan_id=shown.plan_id)
    vault.forget = forget
