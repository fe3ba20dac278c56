"""``compact_tool_result``: head, tail and the file's path stay; the whole of it is in the file."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Any

import pytest
from agentscope.message import Msg, ToolResultBlock, ToolUseBlock

from agentscope_reme import ReMeCopaw
from agentscope_reme.testing import FakeClock
from tests.copaw.conftest import Open

LINE = "x" * 199_990 + "THE END..."


def result(output: Any, call_id: str = "1") -> Msg:
    block = ToolResultBlock(type="tool_result", id=call_id, name="shell", output=output)
    return Msg("system", [block], "system")


def shown(msg: Msg) -> str:
    output = msg.content[0]["output"]  # type: ignore[index,typeddict-item]
    return output if isinstance(output, str) else "".join(part.get("text", "") for part in output)


def files(copaw: ReMeCopaw) -> list[Path]:
    return sorted(copaw.tool_result_path.iterdir())


async def test_one_long_line_keeps_both_ends_and_a_pointer(open_copaw: Open) -> None:
    messages = [Msg("user", "Run it.", "user"), result(LINE)]
    async with open_copaw() as copaw:
        assert await copaw.compact_tool_result(messages) is messages
        text = shown(messages[1])
        (place,) = files(copaw)
        assert place.read_text() == LINE
        assert str(place) in text
        assert text.startswith("x" * 500)
        assert "THE END..." in text
        assert "199,000" in text or "199000" in text
        assert len(text) < 2000


async def test_doing_it_again_changes_and_writes_nothing(open_copaw: Open) -> None:
    messages = [result(LINE)]
    async with open_copaw() as copaw:
        await copaw.compact_tool_result(messages)
        once, written = shown(messages[0]), files(copaw)[0].stat().st_mtime_ns
        copy = [Msg.from_dict(messages[0].to_dict())]
        await copaw.compact_tool_result(messages)
        await copaw.compact_tool_result(copy)
        assert shown(messages[0]) == shown(copy[0]) == once
        assert [place.stat().st_mtime_ns for place in files(copaw)] == [written]


async def test_what_fits_stays_and_a_quoted_mark_fools_nobody(open_copaw: Open) -> None:
    small = "<<<TRUNCATED>>> is only a word here <<<END_TRUNCATED>>>"
    messages = [result(small), result(small + "y" * 5000)]
    async with open_copaw() as copaw:
        await copaw.compact_tool_result(messages)
        assert shown(messages[0]) == small
        assert len(shown(messages[1])) < 2000
        assert len(files(copaw)) == 1


async def test_pictures_in_results_go_to_files(open_copaw: Open) -> None:
    picture = base64.b64encode(b"\x89PNG" + bytes(3000)).decode()
    source = {"type": "base64", "media_type": "image/png", "data": picture}
    blocks = [
        {"type": "text", "text": "before"},
        {"type": "image", "source": source},
        {"type": "text", "text": "after"},
    ]
    messages = [result(blocks)]
    async with open_copaw() as copaw:
        await copaw.compact_tool_result(messages)
        (place,) = files(copaw)
        assert place.suffix == ".png"
        assert place.read_bytes() == base64.b64decode(picture)
        assert picture not in str(messages[0].content)
        assert str(place) in shown(messages[0])


async def test_the_threshold_is_the_hosts(open_copaw: Open) -> None:
    messages = [result("z" * 300)]
    async with open_copaw(tool_result_threshold=100) as copaw:
        await copaw.compact_tool_result(messages)
        assert shown(messages[0]).count("z") == 100


async def test_a_disk_that_refuses_leaves_the_messages(open_copaw: Open) -> None:
    messages = [result(LINE)]
    async with open_copaw() as copaw:
        copaw.tool_result_path.rmdir()
        copaw.tool_result_path.write_text("in the way")
        assert await copaw.compact_tool_result(messages) is messages
        assert shown(messages[0]) == LINE
        assert (await copaw.status()).failures["compact_tool_result"] == 1
        copaw.tool_result_path.unlink()


@pytest.mark.parametrize("moment", ["start", "close", "compact_tool_result"])
async def test_expired_files_go_and_those_still_pointed_to_stay(
    open_copaw: Open, clock: FakeClock, moment: str
) -> None:
    copaw = await open_copaw().start()
    window = copaw.get_in_memory_memory()
    live, held = [result("a" * 5000)], [result("b" * 5000)]
    gone = [result("c" * 5000)]
    for messages in (live, held, gone):
        await copaw.compact_tool_result(messages)
    await window.add(held)
    if moment == "start":
        await copaw.close()
    old = clock.now().timestamp() - 8 * 86_400
    for place in files(copaw):
        os.utime(place, (old, old))
    (copaw.tool_result_path / "mine.txt").write_text("not ours to delete")
    os.utime(copaw.tool_result_path / "mine.txt", (old, old))
    match moment:
        case "start":
            await copaw.start()
        case "close":
            await copaw.close()
        case _:
            await copaw.compact_tool_result(live)
    left = "".join(place.read_text()[0] for place in files(copaw))
    assert sorted(left) == (["a", "b", "n"] if moment == "compact_tool_result" else ["b", "n"])
    await copaw.close()


def turns(count: int) -> list[Msg]:
    said = []
    for n in range(count):
        said.append(Msg("user", f"question {n} " + "word " * 50, "user"))
        calls = [ToolUseBlock(type="tool_use", id=f"{n}-{c}", name="f", input={}) for c in range(3)]
        said.append(Msg("Friday", calls, "assistant"))
        said += [result("answer " * 20, f"{n}-{c}") for c in range(3)]
    return said


async def test_a_window_below_the_threshold_is_kept(open_copaw: Open) -> None:
    async with open_copaw() as copaw:
        said = turns(2)
        assert await copaw.check_context(said) == ([], said, True)


async def test_a_cut_parts_no_call_from_its_result(open_copaw: Open) -> None:
    async with open_copaw() as copaw:
        said = turns(6)
        leave, keep, valid = await copaw.check_context(
            said, memory_compact_threshold=600, memory_compact_reserve=400
        )
        assert valid
        assert leave
        assert [*leave, *keep] == said
        assert not keep[0].has_content_blocks("tool_result")


async def test_a_reserve_above_the_threshold_still_compacts(open_copaw: Open) -> None:
    async with open_copaw() as copaw:
        copaw.memory_compact_threshold = 500
        leave, keep, valid = await copaw.check_context(turns(6))
        assert (bool(leave), bool(keep), valid) == (True, True, True)


async def test_the_live_request_is_never_compacted(open_copaw: Open) -> None:
    said = [*turns(2), Msg("user", "now " * 5000, "user")]
    async with open_copaw() as copaw:
        leave, keep, _ = await copaw.check_context(said, 1000, 100)
        assert keep == said[-1:]
        assert leave == said[:-1]


async def test_what_cannot_be_read_leaves_everything(open_copaw: Open) -> None:
    async with open_copaw() as copaw:
        odd: Any = ["no message"]
        assert await copaw.check_context(odd, 1) == ([], odd, False)
        assert (await copaw.status()).failures["check_context"] == 1


async def test_the_newest_results_may_be_larger(open_copaw: Open) -> None:
    """The limits CoPaw's hook passes, each under its name."""
    picture = {"type": "base64", "media_type": "image/png", "data": "QUJD"}
    seen = [{"type": "image", "source": picture}, {"type": "text", "text": "n" * 900}]
    messages = [result("o" * 5000, "1"), Msg("user", "Go on.", "user"), result(seen, "2")]
    async with open_copaw(tool_result_threshold=100) as copaw:
        await copaw.compact_tool_result(
            messages, old_max_bytes=300, recent_max_bytes=1000, recent_n=1, retention_days=3
        )
        assert 300 <= len(shown(messages[0])) < 900
        assert messages[2].content[0]["output"] == seen  # type: ignore[index,typeddict-item]
        await copaw.compact_tool_result(messages, old_max_bytes=300, recent_max_bytes=600)
        assert 600 <= len(shown(messages[2])) < 1200
        await copaw.compact_tool_result(messages)
        assert max(len(shown(msg)) for msg in messages if msg.role == "system") < 700


@pytest.mark.parametrize("limit", [-1, "3000", 2.5])
async def test_a_limit_nobody_can_mean_leaves_the_messages_as_they_are(
    open_copaw: Open, limit: Any
) -> None:
    messages = [result("o" * 5000)]
    async with open_copaw() as copaw:
        await copaw.compact_tool_result(messages, old_max_bytes=limit)
        assert shown(messages[0]) == "o" * 5000
        assert (await copaw.status()).failures == {"compact_tool_result": 1}


async def test_files_of_one_call_may_expire_sooner(open_copaw: Open, clock: FakeClock) -> None:
    async with open_copaw(retention_days=7) as copaw:
        await copaw.compact_tool_result([result("o" * 5000)])
        (place,) = files(copaw)
        then = clock.now().timestamp() - 4 * 86_400
        os.utime(place, (then, then))
        await copaw.compact_tool_result([])
        assert files(copaw) == [place]
        await copaw.compact_tool_result([], retention_days=3)
        assert files(copaw) == []
