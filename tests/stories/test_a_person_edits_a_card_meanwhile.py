"""Whatever a person writes into a card while an agent works on it stands there afterwards."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme import ReMe
from agentscope_reme.testing import ScriptedChatModel, ToolCall
from tests.stories.test_a_conversation_becomes_a_card import TALK, WRITE

CARD = "daily/2026-06-18/launch-date.md"
NEWS = {
    "id": "m3",
    "role": "user",
    "content": "It is 16 July now.",
    "created_at": "2026-06-18T11:00:00+02:00",
}
EDIT = ToolCall("edit", {"path": CARD, "old": "Reason: audit.", "new": "Now 16 July. Audit."})
REWRITE = ToolCall(
    "write",
    {
        "path": CARD,
        "name": "launch-date",
        "description": "The launch is on 16 July.",
        "content": "# Launch date\n\nNow 16 July. It was 9 July, and before that 2026-07-02.\n",
    },
)
READ = ToolCall("read", {"path": CARD})


@pytest.mark.parametrize(
    ("before", "after"),
    [([], [EDIT, "Done."]), ([EDIT], ["Done."]), ([], [REWRITE, "Done."]), ([REWRITE], ["Done."])],
    ids=["before-edit", "after-edit", "before-rewrite", "after-rewrite"],
)
async def test_the_edit_of_a_person_is_kept(
    open_memory: Callable[..., ReMe], tmp_path: Path, before: list[Any], after: list[Any]
) -> None:
    place = tmp_path / "memory" / CARD

    def meanwhile(_: object) -> ToolCall:
        place.write_text(f"{place.read_text('utf-8')}\nMine: bring flowers.\n", "utf-8")
        return READ

    keeps = ToolCall(
        "edit", {"path": CARD, "old": "# Launch date", "new": "# Launch date: 16 July"}
    )
    model = ScriptedChatModel([WRITE, "Recorded.", *before, meanwhile, *after, keeps, "Done."])
    async with open_memory(model) as reme:
        await reme.auto_memory(TALK, session_id="launch")
        await reme.auto_memory([*TALK, NEWS], session_id="launch")
        assert "Mine: bring flowers." in place.read_text("utf-8")
        await reme.auto_memory()  # what stayed pending is caught up
        assert (await reme.status()).pending_sessions == []
    card = place.read_text("utf-8")
    assert "Mine: bring flowers." in card
    assert "16 July" in card
