"""A query finds its words however they were written; where it cannot take them, it says so."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest

from agentscope_reme import ReMe
from agentscope_reme.errors import Conflict
from agentscope_reme.files.traces import holds_phrase, squeezed
from tests.forgetting.life import leaks

WORD = "quetzalcoatlus"
PATH = "digest/wiki/note.md"


@pytest.fixture
def written(root: Path) -> Callable[[str, bytes], None]:
    def write(path: str, data: bytes) -> None:
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)

    return write


def everything_in(root: Path) -> bytes:
    return b"\0".join(place.read_bytes() for place in root.rglob("*") if place.is_file())


FRONT = {
    "a value": f"name: A\nnickname: {WORD}\n",
    "one that only looks like a date or a source": f"date_of_birth: {WORD}\nsource_note: {WORD}\n",
    "a nested value": f"name: A\nextra:\n  deep: [{WORD}]\n",
    "a comment": f"name: A\n# {WORD}\n",
    "a value that spans lines": f"name: A\nabout: |\n  It is\n  {WORD}\n",
    "front matter nobody can read": f"name: [A\nabout: {WORD}\n",
}


@pytest.mark.parametrize("front", FRONT.values(), ids=FRONT.keys())
async def test_front_matter(
    open_memory: Callable[..., ReMe], root: Path, written: Callable[..., None], front: str
) -> None:
    written(PATH, f"---\n{front}---\n\n# A\n\nSomething else.\n".encode())
    async with open_memory() as reme:
        await reme.reindex()
        await reme.forget(query=WORD, dry_run=False)
        assert leaks(root, [WORD]) == []
        assert "Something else." in (await reme.read(PATH)).content


async def test_a_number_in_front_matter(
    open_memory: Callable[..., ReMe], root: Path, written: Callable[..., None]
) -> None:
    written(PATH, b"---\nname: A\npin: 471147\nempty:\n---\n\nSomething else.\n")
    async with open_memory() as reme:
        await reme.reindex()
        await reme.forget(query="471147", dry_run=False)
        assert leaks(root, ["471147"]) == []
        assert (await reme.frontmatter_read(PATH)).frontmatter == {"name": "A", "empty": None}


async def test_lines_of_front_matter(open_memory: Callable[..., ReMe], root: Path) -> None:
    async with open_memory() as reme:
        await reme.write(PATH, "Something else.", name="A", metadata={"about": [WORD, "b"]})
        lines = (root / PATH).read_text().split("\n")
        line = next(n for n, text in enumerate(lines, 1) if WORD in text)
        await reme.forget(path=PATH, start_line=line, end_line=line, dry_run=False)
        assert (await reme.frontmatter_read(PATH)).frontmatter == {"name": "A"}
        assert leaks(root, [WORD]) == []


@pytest.mark.parametrize("encoding", ["utf-16", "gb18030"])
async def test_another_encoding(
    open_memory: Callable[..., ReMe], root: Path, written: Callable[..., None], encoding: str
) -> None:
    secret = "我的瓢虫密码是七。"
    for path in (PATH, "digest/wiki/copy.md"):
        written(path, f"# 题目\n\n{secret}\n\n别的内容在这里。\n".encode(encoding))
    async with open_memory() as reme:
        await reme.reindex()
        await reme.delete("digest/wiki/copy.md")
        await reme.forget(query="瓢虫密码", dry_run=False)
        assert "瓢虫密码".encode(encoding)[2:] not in everything_in(root)
        assert "别的内容".encode(encoding)[2:] in (root / PATH).read_bytes()
        assert leaks(root, ["瓢虫密码"]) == []


async def test_a_stray_nul_makes_no_picture_of_a_text(
    open_memory: Callable[..., ReMe], root: Path, written: Callable[..., None]
) -> None:
    written(PATH, f"The {WORD}.\n\n".encode() + b"Something else.\0 " + b"x" * 200)
    async with open_memory() as reme:
        await reme.reindex()
        await reme.forget(query=WORD, dry_run=False)
        assert leaks(root, [WORD]) == []


async def test_other_spellings_of_the_same_characters(
    open_memory: Callable[..., ReMe], root: Path
) -> None:
    apart = unicodedata.normalize("NFD", "The café of Zoë.")
    async with open_memory() as reme:
        await reme.write(PATH, f"{apart}\n\n暗証番号 ４７１１４７。\n\nSomething else.\n")
        await reme.forget(query="Café of Zoë", dry_run=False)
        await reme.forget(query="471147", dry_run=False)
        assert leaks(root, [apart, "４７１１４７"]) == []


async def test_short_words_go_from_trash_and_earlier_versions_too(
    open_memory: Callable[..., ReMe], root: Path
) -> None:
    async with open_memory() as reme:
        await reme.write("digest/wiki/a.md", "Bob is ill.")
        await reme.delete("digest/wiki/a.md")
        await reme.write("digest/wiki/b.md", "Bob is well.\n\nMore.")
        await reme.edit("digest/wiki/b.md", "Bob is", "They are")
        await reme.write("digest/wiki/bob-trip.md", "A trip.")
        await reme.delete("digest/wiki/bob-trip.md")
        await reme.write("digest/wiki/bobsled.md", "A bobsled.")
        await reme.delete("digest/wiki/bobsled.md")
        await reme.write(PATH, "Bob is here.\n\nSomething else.")
        await reme.forget(query="Bob", dry_run=False)
        assert leaks(root, ["Bob is", "bob-trip"]) == []
        assert leaks(root, ["bobsled"])


async def test_topics_and_names_are_found_where_nothing_else_says_it(
    open_memory: Callable[..., ReMe], root: Path
) -> None:
    async with open_memory() as reme:
        topics = f"topics:\n- title: The {WORD}\n- title: Gym\n"
        await reme.write("daily/2026-06-20/interests.yaml", topics)
        await reme.write("daily/2026-06-19/interests.yaml", f"topics: [\n{WORD}\n")
        await reme.write(f"digest/wiki/{WORD}-trip.md", "A trip.")
        await reme.forget(query=WORD, dry_run=False)
        assert leaks(root, [WORD]) == []
        assert "Gym" in (await reme.read("daily/2026-06-20/interests.yaml")).content
        assert (await reme.read("digest/wiki/note-1.md")).content.startswith("A trip.")


async def test_what_stays_is_named(
    open_memory: Callable[..., ReMe], root: Path, written: Callable[..., None]
) -> None:
    kept = {
        f"digest/{WORD}/a.md": b"Something else.",
        f"resource/2026-06-20/{WORD}.png": b"\x89PNG\0\0\0",
        "resource/2026-06-20/data.json": f'{{"a": "{WORD}"}}'.encode(),
        "digest/wiki/pinned.md": f"---\npinned: true\n---\n\nThe {WORD}.\n".encode(),
        "digest/wiki/pinned-name.md": f"---\npinned: true\nname: {WORD}\n---\n\nA.\n".encode(),
        "digest/wiki/key.md": f"---\n{WORD}: true\n---\n\nA.\n".encode(),
    }
    for path, data in kept.items():
        written(path, data)
    async with open_memory() as reme:
        await reme.reindex()
        await reme.record(WORD, [{"role": "user", "content": "Hello.", "id": "1"}], distil=False)
        shown = await reme.forget(query=WORD)
        assert {part.path for part in shown.kept} == {*kept, f"session/dialog/{WORD}.jsonl"}
        assert all(part.reason for part in shown.kept)
        done = await reme.forget(query=WORD, dry_run=False)
        assert done.kept == shown.kept
    assert {path: (root / path).read_bytes() for path in kept} == kept


@pytest.mark.parametrize("query", ["a", "the", "I am", "7", ".", "的", "猫", "…"])
async def test_what_may_stand_anywhere_is_forgotten_only_after_it_was_shown(
    open_memory: Callable[..., ReMe], root: Path, query: str
) -> None:
    async with open_memory() as reme:
        await reme.write(PATH, "I am the 7. 的 猫 a … of it.\n\nSomething else.\n")
        with pytest.raises(Conflict, match="Look first"):
            await reme.forget(query=query, dry_run=False)
        assert "Something else." in (await reme.read(PATH)).content
        shown = await reme.forget(query=query)
        assert (await reme.forget(query=query, dry_run=False, plan_id=shown.plan_id)).change_id


@pytest.mark.parametrize("query", [".*", "(a|b)", "\\w+", "[[x]]", "%", "_", "*"])
async def test_a_query_is_no_pattern(open_memory: Callable[..., ReMe], query: str) -> None:
    async with open_memory() as reme:
        await reme.write(PATH, "Something else.\n")
        assert (await reme.forget(query=query)).parts == []


@pytest.mark.parametrize(
    ("text", "phrase", "found"),
    [
        ("The party.", "art", False),
        ("รหัสลับสีแดง", "ลับ", True),
        ("我的瓢虫密码", "瓢虫", True),
        ("カブトムシです", "ムシ", True),
        ("कि", "क", False),
        ("zeta_4711", "4711", True),
        ("zeta47110", "4711", False),
    ],
)
def test_where_a_word_ends(text: str, phrase: str, found: bool) -> None:
    assert holds_phrase(text, squeezed(phrase)) is found
