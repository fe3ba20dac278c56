"""Which new node repeats an old one, by name and by what it says."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agentscope_reme import ReMe
from agentscope_reme.files.change_set import ChangeSet
from agentscope_reme.steps.dream.nodes import Nodes
from agentscope_reme.vault.live_view import LiveView

KNOWN = "digest/wiki/backup.md"
SAYS = "Every night the database is copied to the second disk, and old copies go after a month."


def node(name: str, says: str, description: str = "How data is kept.") -> str:
    return f"---\nname: {name}\ndescription: {description}\n---\n- {says}\n\n## Sources\n"


ALIKE = {
    "the same name": ("backup of the database", "Something else entirely."),
    "the same name in other letters": ("Backup, of the DATABASE!", "Something else entirely."),
    "nearly the same name and content": ("backups of a database", SAYS),
    "another name, the same content": ("night work", SAYS),
    "a part of the content": (
        "night work",
        "Every night the database is copied to the second disk.",
    ),
}
OTHERS = {
    "another subject": ("garden", "The roses are cut in March, and the hedge in June."),
    "a similar name, other content": ("backup of the garden", "Roses are cut in March."),
    "another number in the name": ("backup of the database 2", SAYS),
    "another number in the content": ("night work", f"{SAYS} Disk 7."),
    "few words": ("disk", "A disk."),
}


async def twin(reme: ReMe, name: str, says: str) -> str | None:
    view = ChangeSet(LiveView(reme.application.components.vault, actor="test"))
    nodes = Nodes(reme.application, view, set())
    return await nodes.twin_of("digest/wiki/new.md", node(name, says).encode())


@pytest.mark.parametrize("case", ALIKE)
async def test_it_repeats_a_node(open_memory: Callable[..., ReMe], case: str) -> None:
    async with open_memory() as reme:
        await reme.write(KNOWN, node("backup of the database", SAYS))
        assert await twin(reme, *ALIKE[case]) == KNOWN


@pytest.mark.parametrize("case", OTHERS)
async def test_it_is_a_node_of_its_own(open_memory: Callable[..., ReMe], case: str) -> None:
    async with open_memory() as reme:
        await reme.write(KNOWN, node("backup of the database", SAYS))
        assert await twin(reme, *OTHERS[case]) is None


async def test_chinese_nodes_are_compared_too(open_memory: Callable[..., ReMe]) -> None:
    async with open_memory() as reme:
        await reme.write(KNOWN, node("数据库备份", "每天夜里把数据库复制到第二块硬盘。"))
        assert await twin(reme, "数据库备份", "别的内容。") == KNOWN
        assert await twin(reme, "夜间任务", "每天夜里把数据库复制到第二块硬盘。") == KNOWN
        assert await twin(reme, "花园", "三月修剪玫瑰，六月修剪树篱。") is None


async def test_a_pinned_node_is_no_twin(open_memory: Callable[..., ReMe]) -> None:
    async with open_memory() as reme:
        await reme.write(KNOWN, node("backup of the database", SAYS), metadata={"pinned": True})
        assert await twin(reme, "backup of the database", SAYS) is None
