"""Two hundred conversations with a model that fails or talks nonsense at every tenth call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agentscope_reme import ReMe
from agentscope_reme.files import MarkdownDocument
from agentscope_reme.testing import Request, ScriptedChatModel, ToolCall

SESSIONS = 200
DAYS = 8
_MOST_CALLS = 5_000

FAULTS: list[Callable[[], Any]] = [
    lambda: ConnectionError("the provider is down"),
    lambda: "",
    lambda: ToolCall("daily_write", {"nonsense": 7}),
    lambda: TimeoutError("no answer"),
    lambda: ToolCall("no_such_tool", {}),
]


class Unreliable:
    """Writes a card for every session, but for every tenth call."""

    def __init__(self) -> None:
        self.calls = 0
        self.faults = 0

    def __call__(self, request: Request) -> Any:
        self.calls += 1
        if self.calls % 10 == 0:
            self.faults += 1
            return FAULTS[self.faults % len(FAULTS)]()
        if any(done in request.text for done in ("Created daily/", "Changed daily/", "Edited")):
            return "Recorded."
        if "edit" in request.tool_names:
            path = request.text.partition("Card: ")[2].partition(".md")[0] + ".md"
            return ToolCall("edit", {"path": path, "old": "Code", "new": "Code, again"})
        return ToolCall(
            "daily_write", {"name": "locker", "description": "Locker.", "content": "Code 4711."}
        )


def turns(number: int, round_: int) -> list[dict[str, str]]:
    said = ("My locker code?", "Noted.")
    return [
        {
            "id": f"s{number}-r{round_}-m{n}",
            "role": role,
            "content": f"{text} {number}.{round_}",
            "created_at": f"2026-06-1{number % DAYS}T1{round_}:00:0{n}+02:00",
        }
        for n, (role, text) in enumerate(zip(("user", "assistant"), said, strict=True))
    ]


async def run(reme: ReMe, *, background: bool) -> None:
    for round_ in range(2):
        for number in range(SESSIONS if round_ == 0 else SESSIONS // 4):
            if background:
                await reme.record(f"s{number}", turns(number, round_))
            else:
                await reme.auto_memory(turns(number, round_), session_id=f"s{number}")
    await reme.drain(120)


@pytest.mark.parametrize("background", [False, True], ids=["calls", "background"])
async def test_every_message_is_logged_every_session_has_one_card_and_nothing_waits(
    open_memory: Callable[..., ReMe], background: bool
) -> None:
    model = Unreliable()
    async with open_memory(ScriptedChatModel([model] * _MOST_CALLS)) as reme:
        await run(reme, background=background)
        caught_up = await reme.auto_memory()
        assert (caught_up.success, caught_up.pending, caught_up.failed) == (True, False, [])
        assert (await reme.status()).pending_sessions == []
        root = reme.workspace.root
        for number in range(SESSIONS):
            log = (root / f"session/dialog/s{number}.jsonl").read_text("utf-8")
            for round_ in range(2 if number < SESSIONS // 4 else 1):
                assert all(log.count(f'"{turn["id"]}"') >= 1 for turn in turns(number, round_))
        cards = list((root / "daily").glob("*/*.md"))
        owners = [MarkdownDocument.parse(c.read_bytes()).front_matter["session_id"] for c in cards]
        pages = "".join(page.read_text("utf-8") for page in (root / "daily").glob("*.md"))
    assert sorted(owners) == sorted(f"s{number}" for number in range(SESSIONS))
    assert all(f"[[daily/{card.parent.name}/{card.name}]]" in pages for card in cards)
    assert model.faults >= SESSIONS * 2 // 10
