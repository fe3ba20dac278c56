"""``pinned: true``: only the person changes such a file, whatever way a change takes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme import ReMe
from agentscope_reme.errors import BadPath
from agentscope_reme.files.change_set import ChangeSet
from agentscope_reme.files.changes import Delete, Write
from agentscope_reme.testing import ScriptedChatModel
from agentscope_reme.tools.pinned import is_pinned
from agentscope_reme.vault.live_view import LiveView
from tests.forgetting.life import CARD, CARD_CALL, DAY, SCRIPT, TALK

PINNED = "digest/personal/rules.md"
TEXT = "---\npinned: true\n---\n# Rules\n\nNever on Sundays. [[digest/wiki/sunday.md]]\n"


@pytest.mark.parametrize(
    ("front", "pinned"),
    [
        ("pinned: true", True),
        ("Pinned: yes", True),
        ("pinned: 'true'", True),
        ("pinned: 1", True),
        ("pinned: false", False),
        ("pinned:", False),
        ("pinned: 'no'", False),
        ("a: [\npinned: true  # important", True),
        ("a: [\npinned: false", False),
        ("note: pinned true", False),
    ],
)
def test_the_mark_is_read_as_it_was_meant(front: str, pinned: bool) -> None:
    assert is_pinned(f"---\n{front}\n---\nText.\n".encode()) is pinned
    assert not is_pinned(f"{front}\nText.\n".encode())


@pytest.fixture
async def pinned(open_memory: Callable[..., ReMe]) -> Any:
    async with open_memory() as reme:
        await reme.write(PINNED, TEXT)
        await reme.write("digest/wiki/sunday.md", "# Sunday\n")
        yield reme


def call(reme: ReMe, name: str) -> Callable[..., Any]:
    tool = next(tool for tool in reme.tools() if tool.name == name)
    return lambda **given: tool.call(tool.args.model_validate(given))


async def test_no_tool_of_an_agent_changes_it(pinned: ReMe, root: Path) -> None:
    attempts: list[tuple[str, dict[str, Any]]] = [
        ("write", {"path": PINNED, "content": "Emptied."}),
        ("edit", {"path": PINNED, "old": "Never", "new": "Always"}),
        ("delete", {"path": PINNED}),
        ("delete", {"path": "digest/personal"}),
        ("move", {"src": PINNED, "dst": "digest/wiki/rules.md"}),
        ("move", {"src": "digest/wiki/sunday.md", "dst": PINNED, "overwrite": True}),
        ("move", {"src": "digest/wiki/sunday.md", "dst": "digest/wiki/day.md"}),
        ("frontmatter_update", {"path": PINNED, "metadata": {"pinned": False}}),
        ("frontmatter_delete", {"path": PINNED, "keys": ["pinned"]}),
    ]
    for name, given in attempts:
        output = await call(pinned, name)(**given)
        assert not output.success, name
        assert "pinned" in output.text, name
        assert (root / PINNED).read_text() == TEXT


async def test_no_agent_pins_a_file(pinned: ReMe) -> None:
    for name, given in (
        ("write", {"path": "digest/wiki/a.md", "content": "x", "metadata": {"pinned": True}}),
        ("write", {"path": "digest/wiki/a.md", "content": "---\npinned: true\n---\nx"}),
        ("frontmatter_update", {"path": "digest/wiki/sunday.md", "metadata": {"Pinned": "yes"}}),
    ):
        output = await call(pinned, name)(**given)
        assert not output.success
        assert "only the person" in output.text
    assert not (await pinned.stat("digest/wiki/a.md")).exists


async def test_a_change_set_of_automation_is_refused_as_a_whole(pinned: ReMe, root: Path) -> None:
    vault = pinned.application.components.vault
    for changes in (
        [Write(PINNED, b"Emptied.")],
        [Delete(PINNED)],
        [
            Write("digest/wiki/new.md", b"New."),
            Write(PINNED, TEXT.replace("true", "false").encode()),
        ],
    ):
        with pytest.raises(BadPath, match="pinned"):
            vault.commit(changes, actor="auto_dream", operation="auto_dream")
    staged = ChangeSet(LiveView(vault, actor="auto_dream"))
    staged.move("digest/wiki/sunday.md", "digest/wiki/day.md")
    with pytest.raises(BadPath, match="pinned"):
        vault.commit(staged.changes(), actor="auto_dream", operation="auto_dream")
    assert (root / PINNED).read_text() == TEXT
    assert not (await pinned.stat("digest/wiki/new.md")).exists


async def test_the_person_changes_moves_and_unpins_it(pinned: ReMe) -> None:
    await pinned.edit(PINNED, "Never", "Hardly ever")
    await pinned.move("digest/wiki/sunday.md", "digest/wiki/day.md")
    assert "[[digest/wiki/day.md]]" in (await pinned.read(PINNED)).content
    assert (await pinned.status()).details["pinned"] == 1
    change = await pinned.frontmatter_update(PINNED, {"pinned": False})
    assert (await pinned.status()).details["pinned"] == 0
    await pinned.undo(change.change_id)
    assert (await pinned.status()).details["pinned"] == 1
    await pinned.delete(PINNED)
    assert (await pinned.status()).details["pinned"] == 0


async def test_a_session_with_a_pinned_card_gets_another_one(
    open_memory: Callable[..., ReMe], root: Path
) -> None:
    more = [{"id": "m3", "role": "user", "content": "The shower is cold."}]
    model = ScriptedChatModel([*SCRIPT, CARD_CALL, "Recorded."])
    async with open_memory(model) as reme:
        await reme.auto_memory(TALK, session_id="gym")
        await reme.frontmatter_update(CARD, {"pinned": True})
        before = (root / CARD).read_bytes()
        result = await reme.auto_memory(more, session_id="gym")
    assert result.success
    assert result.path == CARD.replace(".md", "-2.md")
    assert (root / CARD).read_bytes() == before


async def test_a_pinned_page_of_the_day_stays(open_memory: Callable[..., ReMe], root: Path) -> None:
    page = f"daily/{DAY}.md"
    text = "---\npinned: true\n---\nMy page.\n"
    async with open_memory(ScriptedChatModel(SCRIPT)) as reme:
        await reme.write(page, text)
        assert (await reme.auto_memory(TALK, session_id="gym")).success
    assert (root / page).read_text() == text


async def test_a_card_a_pinned_file_links_to_keeps_its_name(
    open_memory: Callable[..., ReMe], root: Path
) -> None:
    from agentscope_reme.testing import ToolCall

    rename = ToolCall("frontmatter_update", {"path": CARD, "metadata": {"name": "other name"}})
    more = [{"id": "m3", "role": "user", "content": "Call it another name."}]
    model = ScriptedChatModel([*SCRIPT, rename, "Recorded."])
    async with open_memory(model) as reme:
        await reme.auto_memory(TALK, session_id="gym")
        await reme.write(PINNED, TEXT + f"[[{CARD}]]\n")
        result = await reme.auto_memory(more, session_id="gym")
        assert result.success
        assert result.path == CARD
        assert "other name" in (await reme.read(CARD)).content
