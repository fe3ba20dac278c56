"""Typed memories become files a person can edit and `ReMe` can find, and come back unharmed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme import MemoryNode, ReMe, Settings, VectorReMe
from agentscope_reme.errors import BadInput, NotFound
from agentscope_reme.testing import FakeClock
from tests.typed.conftest import Open
from tests.typed.talks import COFFEE, drafts

HARD = [
    "---\nname: not front matter\n---\ntext",
    "\n\n leading and trailing \n\n",
    "line\r\nbreaks\r",
    "# Heading\n\n```\ncode [[link]]\n```",
    "2026-02-28 10:00:00",
    "true",
    "中文：引号“”与 emoji 🎉",
    "no newline at the end",
    "tab\tand \\ backslash",
]


@pytest.fixture
def files(tmp_path: Path, clock: FakeClock) -> Callable[[], ReMe]:
    settings = Settings(watch=False, fsync=False)
    return lambda: ReMe(tmp_path / "files", settings=settings, clock=clock)


async def test_one_search_finds_typed_memories_among_files(
    open_memory: Open, files: Callable[[], ReMe]
) -> None:
    async with open_memory([drafts("Alice drinks green tea.", profile={"drink": "tea"})]) as reme:
        await reme.summarize_memory(COFFEE, user_name="alice")
        await reme.add_memory("Use --safe", task_name="deploy", when_to_use="migrating a database")
        async with files() as memory:
            done = await reme.export_markdown(memory, user_name="alice", task_name="deploy")
            assert (len(done.created), done.answer) == (
                3,
                "3 created, 0 updated, 0 removed, 0 unchanged",
            )
            folders = {path.rsplit("/", 1)[0] for path in done.created}
            assert folders == {"digest/personal", "digest/procedure"}
            for query, content in (("green tea", "Alice drinks"), ("migrating", "Use --safe")):
                hits = (await memory.search(query)).hits
                assert content in hits[0].text
            again = await reme.export_markdown(memory, user_name="alice", task_name="deploy")
            assert (again.created, again.updated, again.unchanged) == ([], [], 3)


async def test_a_round_trip_loses_nothing(open_memory: Open, files: Callable[[], ReMe]) -> None:
    async with open_memory() as reme, files() as memory:
        made = [
            await reme.add_memory(
                text,
                "alice",
                when_to_use="2026-01-01" if number % 2 else "",
                author="null",
                score=number / 3,
                ref_memory_id="0123" if number % 2 else "",
                number=number,
                share=1.0,
                flag=True,
                text="yes",
                day="2026-02-28",
            )
            for number, text in enumerate(HARD)
        ]
        await reme.export_markdown(memory, user_name="alice")
        untouched = await reme.import_markdown(memory, user_name="alice")
        assert (untouched.unchanged, untouched.created, untouched.updated) == (len(HARD), [], [])
        for node in made:  # written anew, with the file that is there
            await reme.update_memory(node.memory_id, "alice", rank=1)
            await reme.update_memory(node.memory_id, "alice", rank=None)
        assert len((await reme.export_markdown(memory, user_name="alice")).updated) == len(HARD)
        made = [await reme.get_memory(node.memory_id) for node in made]
        await reme.delete_all()
        back = await reme.import_markdown(memory, user_name="alice")
        assert len(back.created) == len(HARD)
        assert [await reme.get_memory(node.memory_id) for node in made] == made
        assert all(type(n.metadata["share"]) is float for n in await reme.list_memory("alice"))


async def one(reme: VectorReMe, memory: ReMe, text: str = "Alice drinks tea.") -> tuple[Any, Path]:
    node = await reme.add_memory(text, "alice", score=0.5)
    done = await reme.export_markdown(memory, user_name="alice")
    return node, memory.workspace.root / done.created[0]


async def test_an_edit_of_the_person_wins(open_memory: Open, files: Callable[[], ReMe]) -> None:
    async with open_memory() as reme, files() as memory:
        node, path = await one(reme, memory)
        text = path.read_text("utf-8").replace("Alice drinks tea.\n", "Alice drinks oolong.\n")
        path.write_text(text.replace("score: 0.5", "score: 0.9"), "utf-8")
        await reme.update_memory(node.memory_id, "alice", memory_content="Alice drinks water.")
        left = await reme.export_markdown(memory, user_name="alice")
        assert not left.success
        assert "import_markdown" in left.failed[0].reason
        taken = await reme.import_markdown(memory, user_name="alice")
        assert taken.updated == [node.memory_id]
        now = await reme.get_memory(node.memory_id)
        assert (now.content, now.score) == ("Alice drinks oolong.", 0.9)
        found = await reme.retrieve_memory("oolong", user_name="alice")
        assert node.memory_id in found


async def test_after_an_import_the_next_export_is_at_peace(
    open_memory: Open, files: Callable[[], ReMe]
) -> None:
    async with open_memory() as reme, files() as memory:
        node, path = await one(reme, memory)
        path.write_text(path.read_text("utf-8").replace("tea", "oolong"), "utf-8")
        await reme.import_markdown(memory, user_name="alice")
        done = await reme.export_markdown(memory, user_name="alice")
        assert (done.success, done.unchanged) == (True, 1)
        again = await reme.import_markdown(memory, user_name="alice")
        assert (again.unchanged, again.updated) == (1, [])
        assert "oolong" in (await reme.get_memory(node.memory_id)).content


async def test_what_a_person_added_to_the_front_matter_stays(
    open_memory: Open, files: Callable[[], ReMe]
) -> None:
    async with open_memory() as reme, files() as memory:
        node, path = await one(reme, memory)
        text = path.read_text("utf-8").replace("---\n", "---\ntags: [drinks] # mine\n", 1)
        path.write_text(text, "utf-8")
        await reme.update_memory(
            node.memory_id, "alice", memory_content="Alice drinks water.", when_to_use="dinner"
        )
        done = await reme.export_markdown(memory, user_name="alice")
        assert (done.success, len(done.updated)) == (True, 1)
        text = path.read_text("utf-8")
        assert "tags: [drinks] # mine" in text
        assert "when_to_use: dinner" in text
        assert text.endswith("---\n\nAlice drinks water.\n")
        await reme.update_memory(node.memory_id, "alice", when_to_use="")
        await reme.export_markdown(memory, user_name="alice")
        assert "when_to_use" not in path.read_text("utf-8")


async def test_a_changed_memory_changes_its_file_where_it_stands_now(
    open_memory: Open, files: Callable[[], ReMe]
) -> None:
    async with open_memory() as reme, files() as memory:
        node, path = await one(reme, memory)
        old = path.relative_to(memory.workspace.root).as_posix()
        await memory.move(old, "digest/wiki/moved.md")
        await reme.update_memory(node.memory_id, "alice", memory_content="Alice drinks water.")
        done = await reme.export_markdown(memory, user_name="alice")
        assert done.updated == ["digest/wiki/moved.md"]
        assert "water" in (await memory.read("digest/wiki/moved.md")).content
        assert not path.exists()


async def test_the_file_of_a_deleted_memory_goes_and_no_other(
    open_memory: Open, files: Callable[[], ReMe]
) -> None:
    async with open_memory() as reme, files() as memory:
        node, path = await one(reme, memory)
        own = "digest/personal/own.md"
        await memory.write(own, "mine", metadata={"memory_id": node.memory_id})
        await reme.delete_memory(node.memory_id)
        done = await reme.export_markdown(memory, user_name="alice")
        assert done.removed == [path.relative_to(memory.workspace.root).as_posix()]
        assert not path.exists()
        assert (await memory.read(own)).content
        await memory.undo(done_id := (await memory.history()).changes[0].change_id)
        assert done_id
        assert path.exists()


async def test_an_edited_file_of_a_deleted_memory_stays(
    open_memory: Open, files: Callable[[], ReMe]
) -> None:
    async with open_memory() as reme, files() as memory:
        node, path = await one(reme, memory)
        path.write_text(path.read_text("utf-8") + "and coffee\n", "utf-8")
        await reme.delete_memory(node.memory_id)
        done = await reme.export_markdown(memory, user_name="alice")
        assert "brings it back" in done.failed[0].reason
        await reme.import_markdown(memory, user_name="alice")
        assert "and coffee" in (await reme.get_memory(node.memory_id)).content


async def test_files_of_other_targets_are_neither_read_nor_removed(
    open_memory: Open, files: Callable[[], ReMe]
) -> None:
    async with open_memory() as reme, files() as memory:
        node, path = await one(reme, memory)
        bob = await reme.add_memory("Bob drinks beer.", "bob")
        await reme.delete_memory(node.memory_id)
        done = await reme.export_markdown(memory, user_name="bob")
        assert (len(done.created), done.removed) == (1, [])
        taken = await reme.import_markdown(memory, user_name="carol")
        assert (taken.created, taken.updated, taken.unchanged) == ([], [], 0)
        # Alice's file now claims to be Bob's memory: it cannot take it over.
        text = path.read_text("utf-8").replace(node.memory_id, bob.memory_id)
        path.write_text(text, "utf-8")
        taken = await reme.import_markdown(memory, user_name="alice")
        assert "about somebody else" in taken.failed[0].reason
        assert await reme.get_memory(bob.memory_id) == bob


async def test_copies_and_damaged_files_are_told(
    open_memory: Open, files: Callable[[], ReMe]
) -> None:
    async with open_memory() as reme, files() as memory:
        node, path = await one(reme, memory)
        text = path.read_text("utf-8")
        (path.parent / "zz.md").write_text(text, "utf-8")
        broken = text.replace(node.memory_id, "f" * 32).replace("score: 0.5", "score: [high]")
        (path.parent / "zy.md").write_text(broken, "utf-8")
        (path.parent / "zx.md").write_text(
            text.replace("memory_type: personal", "memory_type: history"), "utf-8"
        )
        done = await reme.import_markdown(memory, user_name="alice")
        told = {one.item: one.reason for one in done.failed}
        assert "a copy of" in told["digest/personal/zz.md"]
        assert "`score`" in told["digest/personal/zy.md"]
        assert "no memory any more" in told["digest/personal/zx.md"]
        with pytest.raises(NotFound):
            await reme.get_memory("f" * 32)
        assert await reme.get_memory(node.memory_id) == node


async def test_a_folder_will_do(open_memory: Open, tmp_path: Path) -> None:
    async with open_memory() as reme:
        node = await reme.add_memory("likes tea", tool_name="search")
        done = await reme.export_markdown(tmp_path / "folder", tool_name="search")
        assert (tmp_path / "folder" / done.created[0]).is_file()
        await reme.delete_all()
        await reme.import_markdown(tmp_path / "folder", tool_name="search")
        assert await reme.get_memory(node.memory_id) == node
        assert isinstance(node, MemoryNode)


async def test_a_store_and_files_may_share_a_folder(
    open_memory: Open, tmp_path: Path, clock: FakeClock
) -> None:
    async with open_memory() as reme:
        await reme.add_memory("the pass is swordfish", "alice")
        settings = Settings(watch=False, fsync=False)
        async with ReMe(tmp_path / "memory", settings=settings, clock=clock) as files:
            assert (tmp_path / "memory/typed").is_dir()
            shown = await files.list("", recursive=True)
            assert not [entry for entry in shown.entries if entry.path.startswith("typed")]
            with pytest.raises(BadInput):
                await files.delete("typed")
            assert (await files.doctor()).differences == []


async def test_only_named_targets_are_exported(open_memory: Open, tmp_path: Path) -> None:
    async with open_memory() as reme:
        await reme.add_memory("likes tea", "alice")
        with pytest.raises(BadInput, match="no user_name"):
            await reme.export_markdown(tmp_path / "folder")
        with pytest.raises(BadInput, match="neither a `ReMe` nor a folder"):
            await reme.export_markdown(5, user_name="alice")  # type: ignore[arg-type]
