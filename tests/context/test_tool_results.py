"""Oversized tool results: head and tail stay, the whole is in a file, twice changes nothing."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from agentscope_reme import ReMe, Settings
from agentscope_reme.context import (
    ResultLimits,
    ToolResultCompactor,
    VaultResultFiles,
    result_paths,
)
from agentscope_reme.context.result_files import HeldResultFiles
from agentscope_reme.context.tool_results import NOTICE_CHARACTERS
from agentscope_reme.errors import BadInput, StorageFailed
from agentscope_reme.messages import DataBlock, Message, TextBlock, ToolCallBlock, ToolResultBlock

PNG = base64.b64encode(b"\x89PNG\r\n" + bytes(range(256))).decode()
THOUSAND = ResultLimits.everywhere(1000)


def result(*output: str | DataBlock, call: str = "1") -> Message:
    parts = tuple(TextBlock(text=part) if isinstance(part, str) else part for part in output)
    block = ToolResultBlock(id=call, name="shell", output=parts)
    return Message(role="system", name="system", blocks=(block,))


def block_of(message: Message) -> ToolResultBlock:
    (block,) = message.blocks
    assert isinstance(block, ToolResultBlock)
    return block


def said(message: Message) -> str:
    return "\n".join(part.text for part in block_of(message).output if isinstance(part, TextBlock))


async def compact(
    files: HeldResultFiles, messages: list[Message], limits: ResultLimits = THOUSAND
) -> list[Message]:
    return await ToolResultCompactor(files).compact(messages, limits)


async def test_a_single_line_of_200000_characters_keeps_its_ends_and_names_the_file() -> None:
    files = HeldResultFiles()
    line = "HEAD" + "x" * 199_992 + "TAIL"

    (short,) = await compact(files, [result(line)])

    (path,) = files.files
    assert files.files[path] == line.encode()
    assert block_of(short).omitted == path
    text = said(short)
    assert text.startswith("HEAD" + "x" * 496)
    assert "x" * 496 + "TAIL\n" in text
    assert "(199000 characters omitted)" in text
    assert f"[Full content saved to: {path}]" in text
    assert "200,000 characters, 1 lines" in text
    assert len(text) < 1000 + NOTICE_CHARACTERS


async def test_what_a_terminal_would_show_stays_and_the_file_holds_every_byte() -> None:
    files = HeldResultFiles()
    bar = "".join(f"\r\x1b[32m{n / 100:6.2f}%\x1b[0m" for n in range(10_001))
    raw = f"downloading\n{bar}\ndone\n"

    (short,) = await compact(files, [result(raw)])

    assert said(short).startswith("downloading\n100.00%\ndone\n")
    assert "TRUNCATED" not in said(short)
    assert "[Full content saved to: tool_result/" in said(short)
    assert list(files.files.values()) == [raw.encode()]


async def test_an_image_between_texts_goes_to_a_file_and_a_reference_stays() -> None:
    files = HeldResultFiles()
    image = DataBlock(media_type="image/png", data=PNG)

    (short,) = await compact(files, [result("before", image, "after")])

    assert list(files.files.values()) == [base64.b64decode(PNG)]
    (path,) = files.files
    assert path.endswith(".png")
    assert said(short) == (f"before\n[image/png, 262 bytes. Full content saved to: {path}]\nafter")
    assert block_of(short).omitted == path


async def test_an_inline_address_is_an_image_too_and_a_real_address_stays() -> None:
    files = HeldResultFiles()
    inline = DataBlock(media_type="image/png", url=f"data:image/png;base64,{PNG}")
    far = DataBlock(media_type="image/png", url="https://example.org/a.png")

    (short,) = await compact(files, [result(inline, far)])

    assert len(files.files) == 1
    assert block_of(short).output[1] is far


async def test_compacting_again_changes_nothing_and_writes_nothing() -> None:
    files = HeldResultFiles()
    image = DataBlock(media_type="image/png", data=PNG)
    once = await compact(files, [result("long " * 1000, image), result("short", call="2")])
    before = dict(files.files)

    twice = await compact(files, once)

    assert all(new is old for new, old in zip(twice, once, strict=True))
    assert files.files == before


async def test_a_smaller_limit_later_uses_the_same_file() -> None:
    files = HeldResultFiles()
    whole = "\n".join(f"line {n}" for n in range(5_000))
    (once,) = await compact(files, [result(whole)], ResultLimits.everywhere(10_000))

    (smaller,) = await compact(files, [once], ResultLimits.everywhere(300))

    assert len(files.files) == 1
    assert block_of(smaller).omitted == block_of(once).omitted
    assert said(smaller).startswith("line 0\nline 1\n")
    assert "line 4999\n" in said(smaller)
    assert len(said(smaller)) < 300 + NOTICE_CHARACTERS


async def test_when_the_file_is_gone_the_rest_still_gets_smaller() -> None:
    files = HeldResultFiles()
    (once,) = await compact(files, [result("a" * 9_000)], ResultLimits.everywhere(5_000))
    files.files.clear()

    (smaller,) = await compact(files, [once], ResultLimits.everywhere(300))

    assert len(said(smaller)) < 300 + NOTICE_CHARACTERS
    assert files.files == {}


async def test_a_result_that_quotes_our_own_mark_is_moved_like_any_other() -> None:
    files = HeldResultFiles()
    quoting = "<<<TRUNCATED>>> (5 characters omitted) <<<END_TRUNCATED>>>\n" * 100
    quoting += "[Full content saved to: tool_result/" + "a" * 32 + ".txt]"

    (short,) = await compact(files, [result(quoting)])

    assert list(files.files.values()) == [quoting.encode()]
    assert "a" * 32 not in result_paths([short])


async def test_equal_results_share_a_file() -> None:
    files = HeldResultFiles()
    await compact(files, [result("same " * 1000), result("same " * 1000, call="2")])
    assert len(files.files) == 1


async def test_new_results_keep_more_than_old_ones() -> None:
    files = HeldResultFiles()
    long = "words " * 1_000
    image = DataBlock(media_type="image/png", data=PNG)
    asks = Message(role="user", name="user", blocks=(TextBlock(text="go on"),))
    window = [result(long), asks, result(long, image, call="2"), result(long, call="3")]

    short = await compact(files, window, ResultLimits(old=1_000, recent=10_000, recent_messages=1))

    assert short[0] is not window[0]
    assert [new is old for new, old in zip(short[1:], window[1:], strict=True)] == [True] * 3


async def test_calls_and_everything_said_stay_as_they_are() -> None:
    call = ToolCallBlock(id="1", name="write", input=json.dumps({"text": "x" * 5_000}))
    message = Message(role="assistant", name="a", blocks=(TextBlock(text="y" * 5_000), call))
    assert await compact(HeldResultFiles(), [message]) == [message]


async def test_the_notice_speaks_chinese() -> None:
    (short,) = await ToolResultCompactor(HeldResultFiles(), "zh").compact(
        [result("长" * 5_000)], THOUSAND
    )
    assert "(省略 4000 个字符)" in said(short)
    assert "完整内容保存在: tool_result/" in said(short)


def test_negative_limits_are_refused() -> None:
    with pytest.raises(BadInput, match="`old` is negative"):
        ResultLimits(old=-1)


@pytest.fixture
def open_memory(tmp_path: Path) -> Callable[[], ReMe]:
    return lambda: ReMe(tmp_path, settings=Settings(watch=False, fsync=False))


async def test_in_a_workspace_the_file_is_written_once_and_never_searched(
    open_memory: Callable[[], ReMe], tmp_path: Path
) -> None:
    async with open_memory() as reme:
        window = [result("zebra crossing " * 1_000)]
        (short,) = await reme.offload_tool_results(window, THOUSAND)
        (again,) = await reme.offload_tool_results([short], THOUSAND)
        assert again == short
        (place,) = (tmp_path / "tool_result").iterdir()
        assert place.read_text() == "zebra crossing " * 1_000
        assert len(place.stem) == 32
        assert block_of(short).omitted == f"tool_result/{place.name}"
        assert (await reme.search("zebra crossing")).hits == []
        (reads,) = reme.tools(include=["read"])
        told = await reads.call({"path": f"tool_result/{place.name}"})
        assert "zebra crossing" in told.text


async def test_an_expired_file_that_a_live_message_points_to_stays(
    open_memory: Callable[[], ReMe], tmp_path: Path
) -> None:
    async with open_memory() as reme:
        live, dead = await reme.offload_tool_results(
            [result("live " * 1_000), result("dead " * 1_000, call="2")], THOUSAND
        )
        (tmp_path / "tool_result" / "notes of mine.txt").write_text("mine")
        parts = reme.application.components
        files = VaultResultFiles(parts.vault, parts.disk)
        later = reme.clock.now() + timedelta(days=8)
        keep = result_paths([live])

        assert files.expire(7, now=later - timedelta(days=2), live=()) == []
        assert files.expire(7, now=later, live=keep) == [block_of(dead).omitted]
        left = {place.name for place in (tmp_path / "tool_result").iterdir()}
        assert left == {"notes of mine.txt", str(block_of(live).omitted).rpartition("/")[2]}
        with pytest.raises(BadInput):
            files.expire(-1, now=later)


async def test_a_result_that_cannot_be_saved_changes_nothing(
    open_memory: Callable[[], ReMe], tmp_path: Path
) -> None:
    async with open_memory() as reme:
        (tmp_path / "tool_result").write_text("a file where the folder should be")
        window = [result("long " * 1_000)]
        with pytest.raises((StorageFailed, BadInput)):
            await reme.offload_tool_results(window, THOUSAND)
        assert said(window[0]) == "long " * 1_000


async def test_of_megabytes_only_the_ends_are_drawn_and_every_byte_is_in_the_file() -> None:
    files = HeldResultFiles()
    line = "\x1b[31mline of a log\x1b[0m\n"
    log = f"FIRST\n{line * 100_000}LAST"
    (short,) = await compact(files, [result(log)])
    assert list(files.files.values()) == [log.encode()]
    text = said(short)
    assert text.startswith("FIRST\nline of a log\n")
    assert "LAST\n\n[Full content saved to" in text
    assert "\x1b" not in text
    assert len(text) < 1000 + NOTICE_CHARACTERS
    (again,) = await compact(files, [short])
    assert again is short


async def test_both_ends_of_megabytes_stay_when_they_are_redrawn_to_almost_nothing() -> None:
    redrawn = "#" * 99 + "\r"
    log = f"{redrawn * 3000}FIRST\n{'x' * 1000}\n{redrawn * 3000}LAST\n"
    (short,) = await compact(HeldResultFiles(), [result(log)])
    text = said(short)
    assert text.startswith("#####")
    assert "\nLAST" in text or "LAST##" in text
