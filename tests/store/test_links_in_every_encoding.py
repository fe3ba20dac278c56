"""A link the index knows is one a move can rewrite, whatever the file's encoding."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentscope_reme import ReMe, Settings
from agentscope_reme.files.change_set import ChangeSet
from agentscope_reme.vault.live_view import LiveView

TEXT = "\n".join(
    ["第一行 see [[digest/目标.md#头|目标]] 以及", "", "`[[digest/目标.md]]`", "é 数据库"]
)
ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "utf-32", "gb18030", "utf-16-be with mark"]


def encoded(text: str, encoding: str) -> bytes:
    if encoding.endswith("with mark"):
        return ("\ufeff" + text).encode("utf-16-be")
    return text.encode(encoding)


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("staged", [False, True])
async def test_a_move_rewrites_the_link_and_nothing_else(
    tmp_path: Path, encoding: str, line_end: str, staged: bool
) -> None:
    text = TEXT.replace("\n", line_end)
    async with ReMe(tmp_path, settings=Settings(watch=False)) as reme:
        await reme.write("digest/目标.md", "target")
        (tmp_path / "digest/u.md").write_bytes(encoded(text, encoding))
        await reme.reindex()
        if staged:
            view = ChangeSet(LiveView(reme._engine.components.vault, actor="user"))
            view.move("digest/目标.md", "digest/新.md")
            found = view.read("digest/u.md")
            assert [link.source_path for link in view.inlinks("digest/新.md")] == ["digest/u.md"]
        else:
            moved = await reme.move("digest/目标.md", "digest/新.md")
            assert moved.touched == ["digest/u.md"]
            found = (tmp_path / "digest/u.md").read_bytes()
            assert (await reme.doctor()).differences == []
            assert [link.source_path for link in moved.inbound] == ["digest/u.md"]
    assert found == encoded(text.replace("[[digest/目标.md#", "[[digest/新.md#"), encoding)
