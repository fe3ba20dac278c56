"""``kill -9`` in front of a step on the disk, one after the other: the next run makes it good.

``REME_CRASH_EVERY_STEP=1`` tries every single step; otherwise some are passed over.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme.files.documents import MarkdownDocument
from agentscope_reme.schema import content_hash
from tests.resources.reading_child import main, read_resources

STRIDE = 1 if os.environ.get("REME_CRASH_EVERY_STEP") else 5
DAY = "2026-06-18"
TEXTS = {"new": "One.", "changed": "Two.", "deleted": None, "moved": "One."}


@pytest.mark.crash
@pytest.mark.parametrize("case", TEXTS)
def test_whatever_step_it_dies_before(tmp_path: Path, case: str) -> None:
    died = 0
    for step in range(1 + sorted(TEXTS).index(case) % STRIDE, 1000, STRIDE):
        root = tmp_path / f"{case}-{step}"
        _prepared(root, case)
        if not _died(root, step):
            break
        died += 1
        _check(root, case)
    assert died > 3


def _prepared(root: Path, case: str) -> None:
    place = root / f"resource/{DAY}/a.md"
    place.parent.mkdir(parents=True)
    place.write_text("One.")
    if case != "new":
        asyncio.run(read_resources(str(root), str(root.with_suffix(".calls"))))
    match case:
        case "deleted":
            place.unlink()
        case "moved":
            place.rename(place.with_name("b.md"))
        case "changed":
            place.write_text("Two.")


def _died(root: Path, step: int) -> bool:
    context = _context()
    listening, out = context.Pipe(duplex=False)
    calls = str(root.with_suffix(".calls"))
    child = context.Process(target=main, args=(str(root), calls, step, out), daemon=True)
    child.start()
    out.close()
    child.join()
    if child.exitcode == -signal.SIGKILL:
        return True
    assert child.exitcode == 0
    listening.recv()
    return False


def _check(root: Path, case: str) -> None:
    calls = root.with_suffix(".calls")
    result = asyncio.run(read_resources(str(root), str(calls)))
    again = asyncio.run(read_resources(str(root), str(calls)))
    cards = [path.name for path in root.glob("daily/*/*.md")]
    page = root / f"daily/{DAY}.md"
    assert (result.success, again.success, again.cards) == (True, True, [])
    text = TEXTS[case]
    if text is None:
        assert cards == []
        assert "[[" not in page.read_text("utf-8")
        return
    assert cards == ["card.md"]
    document = MarkdownDocument.parse((root / f"daily/{DAY}/card.md").read_bytes())
    assert document.front_matter["source_hash"] == content_hash(text.encode())
    name = "b.md" if case == "moved" else "a.md"
    assert document.front_matter["source_resource"] == f"[[resource/{DAY}/{name}]]"
    assert document.body.count("Second.") == (case == "changed")
    assert f"[[daily/{DAY}/card.md]]" in page.read_text("utf-8")
    assert len(calls.read_text().split()) <= {"new": 2, "changed": 3, "moved": 1}[case]


def _context() -> Any:
    """Children start from a process that has imported everything already."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.resources.reading_child"])
    return context
