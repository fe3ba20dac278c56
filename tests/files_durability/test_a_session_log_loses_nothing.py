from __future__ import annotations

import base64
import hashlib
import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme.errors import BadInput, NotFound
from agentscope_reme.files.disk import Disk
from agentscope_reme.files.locks import WorkspaceLocks
from agentscope_reme.files.session_log import SessionArchive, SessionLog, session_ids
from agentscope_reme.messages import DataBlock, Message, TextBlock, ToolResultBlock
from agentscope_reme.testing import FakeClock
from agentscope_reme.workspace import Workspace


class Room:
    def __init__(self, root: Path) -> None:
        self.workspace = Workspace(root)
        self.workspace.create()
        self.disk = Disk()
        self.clock = FakeClock(timezone="Europe/Berlin")

    def log(self, session_id: str = "s1") -> SessionLog:
        return SessionLog(self.workspace, session_id, **self._parts())

    def archive(self, session_id: str = "s1") -> SessionArchive:
        return SessionArchive(self.workspace, session_id, **self._parts())

    def raw(self, path: str) -> list[bytes]:
        return (self.workspace.root / path).read_bytes().split(b"\n")[:-1]

    def _parts(self) -> dict[str, Any]:
        locks = WorkspaceLocks(self.workspace)
        return {"disk": self.disk, "locks": locks, "clock": self.clock}


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path)


def said(text: str, message_id: str | None = None, at: str | None = None) -> Message:
    row = {"role": "user", "content": text, "id": message_id, "created_at": at}
    return Message.from_dict(row)


def texts(log: SessionLog) -> list[str]:
    return [logged.message.text for logged in log.read().messages]


def test_the_first_line_names_the_session(room: Room) -> None:
    log = room.log("用户:alice/会话 1")
    log.append([said("hello")])
    assert log.path == "session/dialog/用户%3Aalice%2F会话%201.jsonl"
    assert json.loads(room.raw(log.path)[0]) == {
        "type": "session",
        "session_id": "用户:alice/会话 1",
    }
    assert session_ids(room.workspace) == ["用户:alice/会话 1"]


@pytest.mark.parametrize("session_id", ["../../etc/x", "", "..", " "])
def test_an_id_that_cannot_name_a_file_is_refused(room: Room, session_id: str) -> None:
    with pytest.raises(BadInput):
        room.log(session_id)


def test_separators_inside_a_text_round_trip(room: Room) -> None:
    text = "line\u2028separator\u0085inside\u2029\x0b"
    room.log().append([said(text, "m1")])
    room.log().append([said("more", "m2")])
    room.log().append([said(text, "m1")])
    assert texts(room.log()) == [text, "more"]


def test_messages_without_ids_are_not_stored_twice(room: Room) -> None:
    three = [said("a"), said("b"), said("a")]
    first = room.log().append(three)
    second = room.log().append(three)
    assert (first.appended, second.appended, second.duplicates) == (3, 0, 3)
    assert first.ids == second.ids
    assert len(set(first.ids)) == 3
    assert len(room.raw(room.log().path)) == 4


def test_a_growing_history_without_ids_adds_only_its_end(room: Room) -> None:
    room.log().append([said("a"), said("b")])
    grown = room.log().append([said("a"), said("b"), said("a"), said("c")])
    assert (grown.appended, grown.duplicates) == (2, 2)
    assert texts(room.log()) == ["a", "b", "a", "c"]


def test_the_same_words_at_another_position_are_another_message(room: Room) -> None:
    room.log().append([said("yes"), said("no")])
    assert room.log().append([said("hm"), said("maybe"), said("yes")]).appended == 3


def test_a_retried_increment_without_ids_is_recognised(room: Room) -> None:
    room.log().append([said("a"), said("b"), said("c")])
    room.log().append([said("d"), said("e")])
    assert room.log().append([said("d"), said("e")]).duplicates == 2


def test_a_window_with_times_is_recognised_wherever_it_begins(room: Room) -> None:
    turns = [said(f"t{n % 2}", at=f"2026-06-20T10:0{n}:00") for n in range(6)]
    room.log().append(turns)
    outcome = room.log().append([*turns[3:], said("new", at="2026-06-20T11:00:00")])
    assert (outcome.appended, outcome.duplicates) == (1, 3)


def test_ids_made_up_for_messages_are_the_same_everywhere(tmp_path: Path) -> None:
    one = Room(tmp_path / "one").log().append([said("a"), said("b")])
    other = Room(tmp_path / "other").log().append([said("a"), said("b")])
    assert one.ids == other.ids


def test_an_edited_message_supersedes_the_old_one(room: Room) -> None:
    room.log().append([said("hello", "m1"), said("there", "m2")])
    outcome = room.log().append([said("hello!", "m1"), said("there", "m2")])
    assert (outcome.appended, outcome.duplicates, outcome.superseded) == (0, 1, 1)
    assert texts(room.log()) == ["hello!", "there"]
    lines = room.raw(room.log().path)
    assert len(lines) == 4
    assert json.loads(lines[3])["supersedes"] == "m1"


def test_a_repeated_edit_is_a_duplicate(room: Room) -> None:
    room.log().append([said("hello", "m1")])
    room.log().append([said("hello!", "m1")])
    assert room.log().append([said("hello!", "m1")]).duplicates == 1


def test_another_time_alone_is_no_edit(room: Room) -> None:
    room.log().append([said("hello", "m1", "2026-06-20T10:00:00")])
    assert room.log().append([said("hello", "m1", "2026-06-20T10:00:01")]).duplicates == 1


def test_an_unreadable_line_stays_byte_for_byte(room: Room) -> None:
    log = room.log()
    place = room.workspace.root / log.path
    place.parent.mkdir(parents=True)
    place.write_bytes(b'{broken json\n\xff\xfe not utf-8\n{"role": "user", "blocks": 7}\n[1]\n')
    log.append([said("after", "m1")])
    assert place.read_bytes().startswith(b"{broken json\n\xff\xfe not utf-8\n")
    contents = log.read()
    assert contents.unreadable == (1, 2, 3, 4)
    assert [logged.line for logged in contents.messages] == [6]


def test_a_torn_tail_stays_alone_on_its_line(room: Room) -> None:
    log = room.log()
    log.append([said("one", "m1")])
    place = room.workspace.root / log.path
    with place.open("ab") as torn:
        torn.write(b'{"id":"m2","role":"us')
    log.append([said("two", "m3")])
    assert texts(log) == ["one", "two"]
    assert log.read().unreadable == (3,)


def test_a_log_that_lost_its_header_goes_by_its_name(room: Room) -> None:
    place = room.workspace.root / "session/dialog/a%20b.jsonl"
    place.parent.mkdir(parents=True)
    place.write_bytes(b'{"type":"sess\n')
    assert session_ids(room.workspace) == ["a b"]
    room.log("a b").append([said("x", "m1")])
    assert room.log("a b").path == "session/dialog/a%20b.jsonl"
    assert texts(room.log("a b")) == ["x"]


def test_unknown_control_lines_are_passed_over(room: Room) -> None:
    log = room.log()
    log.append([said("one", "m1")])
    room.disk.append(room.workspace.root / log.path, b'{"type":"from-the-future"}\n')
    assert log.read().unreadable == ()
    assert texts(log) == ["one"]


def test_ids_that_differ_only_by_case_get_different_files(room: Room) -> None:
    for name in ("Alice", "alice", "ALICE"):
        room.log(name).append([said(f"I am {name}")])
    paths = [room.log(name).path for name in ("Alice", "alice", "ALICE")]
    assert len({path.casefold() for path in paths}) == 3
    assert paths[0] == "session/dialog/Alice.jsonl"
    assert texts(room.log("alice")) == ["I am alice"]
    assert session_ids(room.workspace) == ["ALICE", "Alice", "alice"]
    (room.workspace.root / paths[0]).unlink()
    assert room.log("alice").path == paths[1]  # a lookup never changes


def test_ids_that_race_for_one_name_stay_apart(room: Room) -> None:
    names = ["Bob", "bob", "BOB", "bOb"]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda name: room.log(name).append([said(name)]), names))
    assert len({room.log(name).path.casefold() for name in names}) == 4
    assert [texts(room.log(name)) for name in names] == [[name] for name in names]


def test_a_log_that_is_created_while_it_is_looked_for_keeps_its_name(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = os.listdir

    def written_meanwhile(folder: Path) -> list[str]:
        monkeypatch.setattr(os, "listdir", listed)
        room.log("talk").append([said("first", "m1")])
        return listed(folder)

    log = room.log("talk")
    (room.workspace.root / log.path).parent.mkdir(parents=True, exist_ok=True)
    monkeypatch.setattr(os, "listdir", written_meanwhile)
    assert log.path == "session/dialog/talk.jsonl"
    assert texts(log) == ["first"]


def test_a_long_id_stands_whole_in_the_header(room: Room) -> None:
    long = "会话" * 100
    room.log(long).append([said("x")])
    assert len(Path(room.log(long).path).name.encode()) < 140
    assert session_ids(room.workspace) == [long]


def test_concurrent_appends_keep_every_message(room: Room) -> None:
    def record(part: int) -> None:
        room.log().append([said(f"{part}-{n}", f"{part}-{n}") for n in range(20)])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(record, range(4)))
    assert len(texts(room.log())) == 80


def test_payloads_are_left_out_and_described(room: Room) -> None:
    payload = b"\x89PNG..."
    data = base64.b64encode(payload).decode()
    output = (TextBlock(text="secret " * 10),)
    blocks = (
        DataBlock(media_type="image/png", data=data, path="session/images/x.png"),
        DataBlock(media_type="image/png", url=f"data:image/png;base64,{data}"),
        DataBlock(media_type="image/png", url="https://example.org/x.png"),
        ToolResultBlock(id="t1", name="grep", output=output),
    )
    log = room.log()
    log.append([Message(id="m1", role="user", name="u", blocks=blocks)])
    saved, inline, remote, result = log.read().messages[0].message.blocks
    assert isinstance(saved, DataBlock)
    assert saved.data is None
    assert (saved.path, saved.size) == ("session/images/x.png", len(payload))
    assert saved.sha256 == hashlib.sha256(payload).hexdigest()
    assert isinstance(inline, DataBlock)
    assert (inline.url, inline.sha256) == (None, saved.sha256)
    assert remote == blocks[2]
    assert isinstance(result, ToolResultBlock)
    assert result.output == ()
    assert result.omitted is not None
    assert "sha256=" in result.omitted
    raw = (room.workspace.root / log.path).read_bytes()
    assert b"secret" not in raw
    assert data.encode() not in raw


def test_a_payload_that_was_already_left_out_stays_as_it_is(room: Room) -> None:
    block = ToolResultBlock(id="t", name="grep", omitted="tool_result/t.txt")
    room.log().append([Message(id="m1", role="system", name="s", blocks=(block,))])
    assert room.log().read().messages[0].message.blocks == (block,)


def test_the_archive_keeps_everything(room: Room) -> None:
    block = ToolResultBlock(id="t", name="grep", output=(TextBlock(text="whole"),))
    message = Message(id="m1", role="system", name="s", blocks=(block,))
    archive = room.archive()
    assert archive.path == "session/agentscope/s1.jsonl"
    assert archive.append([message]).appended == 1
    assert archive.append([message, said("more")]).appended == 1
    assert b"whole" in (room.workspace.root / archive.path).read_bytes()
    assert session_ids(room.workspace) == []


def test_readers_see_event_order(room: Room) -> None:
    room.log().append(
        [
            said("late", at="2023-01-20T00:30:00+09:00"),
            said("after late"),
            said("early", at="2023-01-19T08:00:00"),
            said("not a date", at="not a date"),
        ]
    )
    assert texts(room.log()) == ["early", "not a date", "late", "after late"]


def test_times_keep_their_spelling(room: Room) -> None:
    room.log().append([said("a", at="2023-01-19T08:00:00"), said("b", at="not a date")])
    first, second = (logged.message for logged in room.log().read().messages)
    assert first.created_at is not None
    assert first.created_at.tzinfo is None
    assert second.created_at is None
    assert second.created_at_text == "not a date"


def test_everything_is_pending_until_a_cursor_passes_it(room: Room) -> None:
    log = room.log()
    log.append([said("a", "m1"), said("b", "m2")])
    assert [logged.id for logged in log.pending()] == ["m1", "m2"]
    log.mark_distilled("m2", card="daily/2026-06-20/x.md", request_id="r1", fingerprint="f1")
    log.append([said("c", "m3")])
    assert [logged.id for logged in room.log().pending()] == ["m3"]
    (cursor,) = room.log().read().distilled
    assert (cursor.through, cursor.card) == ("m2", "daily/2026-06-20/x.md")
    assert (cursor.request_id, cursor.fingerprint) == ("r1", "f1")
    assert cursor.at == "2026-06-20T11:30:00+02:00"


def test_nothing_worth_a_card_moves_the_cursor_too(room: Room) -> None:
    log = room.log()
    log.append([said("a", "m1")])
    log.mark_distilled("m1", card=None)
    assert log.pending() == []
    assert log.read().distilled[0].card is None


def test_the_cursor_lives_in_the_log_and_survives_its_card(room: Room) -> None:
    log = room.log()
    log.append([said("a", "m1")])
    card = room.workspace.root / "daily/2026-06-20/x.md"
    room.disk.replace(card, b"card")
    log.mark_distilled("m1", card="daily/2026-06-20/x.md")
    card.unlink()
    assert room.log().pending() == []


def test_an_edit_makes_a_distilled_message_pending_again(room: Room) -> None:
    log = room.log()
    log.append([said("a", "m1"), said("b", "m2")])
    log.mark_distilled("m2", card=None)
    log.append([said("a, edited", "m1")])
    assert [logged.message.text for logged in log.pending()] == ["a, edited"]


def test_an_edit_during_distilling_is_not_passed_by_the_cursor(room: Room) -> None:
    log = room.log()
    log.append([said("a", "m1")])
    assert len(log.pending()) == 1
    room.log().append([said("a, edited", "m1"), said("b", "m2")])
    log.mark_distilled("m1", card=None)
    assert [logged.message.text for logged in room.log().pending()] == ["a, edited", "b"]


def test_a_cursor_needs_a_logged_message(room: Room) -> None:
    with pytest.raises(NotFound):
        room.log().mark_distilled("nobody", card=None)


def test_an_empty_session_reads_as_empty(room: Room) -> None:
    contents = room.log().read()
    assert (contents.messages, contents.distilled, contents.unreadable) == ((), (), ())
    assert room.log().append([]).appended == 0
    assert session_ids(room.workspace) == []


def test_a_thousand_messages_are_one_write(room: Room) -> None:
    messages = [said(f"message {n} " * 20, f"m{n}", "2026-06-20T10:00:00") for n in range(1000)]
    assert room.log().append(messages).appended == 1000
    assert room.disk.fsyncs == 2  # the lines, and the folder of the new file
    room.log().append([said("one more")])
    assert room.disk.fsyncs == 3
