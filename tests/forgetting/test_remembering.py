"""`remember`: a person's own statement, dated, linked, never repeated, and it can be undone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from agentscope_reme import ReMe, Settings
from agentscope_reme.errors import BadInput, BadPath, NotFound
from agentscope_reme.testing import FakeClock

NODE = "digest/personal/remembered.md"


async def test_a_statement_is_dated_and_found_at_once(open_memory: Callable[..., ReMe]) -> None:
    async with open_memory() as reme:
        result = await reme.remember("Release notes stay short.")
        assert (result.path, result.created, result.corroborated) == (NODE, True, False)
        assert result.statement == "Release notes stay short. (observed 2026-06-20)"
        assert (await reme.search("release notes short")).hits[0].path == NODE
        front = (await reme.frontmatter_read(NODE)).frontmatter
        assert front == {
            "name": "Remembered",
            "description": "What the person asked to remember.",
            "kind": "remembered",
        }
        change = (await reme.history(limit=1)).changes[0]
        assert (change.actor, change.operation) == ("user", "remember")
        await reme.undo(result.change_id)
        assert not (await reme.stat(NODE)).exists


async def test_the_same_again_gets_another_date_and_more_sources(
    open_memory: Callable[..., ReMe], clock: FakeClock
) -> None:
    async with open_memory() as reme:
        await reme.write("resource/2026-06-20/mail.txt", "Mail.")
        await reme.remember("Release notes stay short.")
        clock.advance(days=3)
        again = await reme.remember(
            "The release notes stay short", sources=["[[resource/2026-06-20/mail.txt]]"]
        )
        assert again.corroborated
        same_day = await reme.remember("Release notes stay short.")
        assert same_day.change_id == ""
        body = (await reme.read(NODE)).content.partition("# Remembered")[2]
    assert body.split("\n") == [
        "",
        "",
        "- Release notes stay short. ([[resource/2026-06-20/mail.txt]]) "
        "(observed 2026-06-20, observed 2026-06-23)",
        "",
        "## Sources",
        "",
        "- [[resource/2026-06-20/mail.txt]]",
    ]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Mei likes Bob.", "Bob likes Mei."),
        ("I drink coffee.", "I do not drink coffee."),
        ("I get up at 7.", "I get up at 8."),
        ("I drink coffee.", "You drink coffee."),
        ("His birthday is in May.", "Her birthday is in May."),
        ("The train leaves for Berlin.", "The train leaves from Berlin."),
        ("I was moved.", "I will move."),
        ("I prefer C#.", "I prefer C++."),
        ("It is -5 degrees.", "It is 5 degrees."),
        ("A coffee costs €5.", "A coffee costs $5."),
        ("Mood: 😀", "Mood: 😢"),
        ("I study at the university.", "I study the universal."),
    ],
)
async def test_what_means_something_else_is_a_statement_of_its_own(
    open_memory: Callable[..., ReMe], first: str, second: str
) -> None:
    async with open_memory() as reme:
        await reme.remember(first)
        assert not (await reme.remember(second)).corroborated
        assert (await reme.read(NODE)).content.count("(observed") == 2


async def test_another_node_that_says_so_is_corroborated(
    open_memory: Callable[..., ReMe], clock: FakeClock
) -> None:
    path = "digest/wiki/releases.md"
    async with open_memory() as reme:
        await reme.write(path, "# Releases\n\n- Releases are on Thursdays (observed 2026-05-01)\n")
        result = await reme.remember("Releases are on Thursdays", bucket="wiki")
        assert (result.path, result.corroborated) == (path, True)
        assert "(observed 2026-05-01, observed 2026-06-20)" in (await reme.read(path)).content
        await reme.write(
            path,
            "# Releases\n\n- Releases are on Mondays (observed 2026-05-01, until 2026-06-01)\n",
        )
        ended = await reme.remember("Releases are on Mondays", bucket="wiki")
        assert not ended.corroborated


async def test_secrets_are_taken_out_as_the_settings_say(open_memory: Callable[..., ReMe]) -> None:
    key = "sk-abcdefghijklmnop1234567"
    async with open_memory() as reme:
        result = await reme.remember(f"The key is {key}")
        assert result.redacted == ["provider API key"]
        assert key not in (await reme.read(NODE)).content
        assert "Taken out" in result.answer
    async with open_memory(settings=Settings(watch=False, redact="block")) as reme:
        with pytest.raises(BadInput, match="secret"):
            await reme.remember(f"Another key is {key}")
    async with open_memory(settings=Settings(watch=False, redact="allow")) as reme:
        await reme.remember(f"A third key is {key}")
        assert key in (await reme.read(NODE)).content


async def test_it_stands_in_the_language_of_the_memory(open_memory: Callable[..., ReMe]) -> None:
    async with open_memory(language="zh") as reme:
        await reme.write("resource/2026-06-20/a.txt", "a")
        await reme.remember("发布说明要短。", sources=["resource/2026-06-20/a.txt"])
        text = (await reme.read(NODE)).content
        assert "# 记住的事" in text
        assert "## 来源" in text
        assert (await reme.remember("发布说明要短")).change_id == ""


async def test_what_cannot_be_remembered_is_refused(open_memory: Callable[..., ReMe]) -> None:
    async with open_memory() as reme:
        for text in ("", "  \n ", "...", "x" * 2001):
            with pytest.raises(BadInput):
                await reme.remember(text)
        with pytest.raises(BadInput):
            await reme.remember("Fine.", bucket="secret")  # type: ignore[arg-type]
        with pytest.raises(BadInput):
            await reme.remember("Fine.", sources="resource/a.txt")
        with pytest.raises(NotFound):
            await reme.remember("Fine.", sources=["resource/2026-06-20/none.txt"])
        with pytest.raises(BadPath):
            await reme.remember("Fine.", sources=["../outside.txt"])
        assert not (await reme.stat(NODE)).exists


async def test_a_full_node_is_followed_by_another(
    open_memory: Callable[..., ReMe], root: Path
) -> None:
    async with open_memory() as reme:
        await reme.remember("The first statement.")
        (root / NODE).write_text((root / NODE).read_text() + "\n" + "filler " * 10_000)
        await reme.reindex("digest")
        second = await reme.remember("Something quite different.")
        assert second.path == "digest/personal/remembered-2.md"
        assert (await reme.remember("The first statement.")).path == NODE


async def test_forgetting_a_source_leaves_what_has_none(open_memory: Callable[..., ReMe]) -> None:
    async with open_memory() as reme:
        await reme.write("resource/2026-06-20/mail.txt", "Mail.")
        await reme.remember("On my own word.")
        await reme.remember("From the mail.", sources=["resource/2026-06-20/mail.txt"])
        await reme.forget(path="resource/2026-06-20/mail.txt", dry_run=False)
        text = (await reme.read(NODE)).content
    assert "On my own word." in text
    assert "From the mail." not in text
    assert "Sources" not in text


async def test_many_at_once_are_all_kept(open_memory: Callable[..., ReMe]) -> None:
    async with open_memory() as one, open_memory() as other:
        await asyncio.gather(
            *((one, other)[n % 2].remember(f"Fact number {n} holds.") for n in range(40))
        )
        assert (await one.read(NODE)).content.count("Fact number") == 40
