"""A memory with a statement, the card it rests on, and the words the card rests on."""

from __future__ import annotations

import base64
import shutil
from collections.abc import AsyncIterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from agentscope_reme import ReMe, Settings
from agentscope_reme.testing import FakeClock

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
collect_ignore = [] if BROWSER and find_spec("playwright") else ["test_in_a_browser.py"]

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg=="
)
HOSTILE = (
    "<img src=x onerror=\"document.title='owned'\"></script><script>document.title='owned'</script>"
)


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[ReMe]:
    clock = FakeClock("2026-06-20T09:30:00", timezone="UTC")
    settings = Settings(watch=False, fsync=False)
    async with ReMe(tmp_path / "memory", settings=settings, clock=clock) as reme:
        yield reme


@pytest.fixture
async def lived_in(memory: ReMe) -> ReMe:
    turns = [
        {
            "id": "1",
            "role": "user",
            "content": "Good morning.",
            "created_at": "2026-06-19T08:00:00",
        },
        {"id": "2", "role": "user", "content": "斑马 sleeps in the vault at nine."},
        {"id": "3", "role": "assistant", "content": HOSTILE},
    ]
    await memory.record("talk", turns)
    await memory.write(
        "daily/2026-06-19/talk.md",
        "## Notes\n\n- The zebra 斑马 sleeps at nine, in the vault.\n- Tea was green.\n",
        name="Zebra talk",
        metadata={"source_conversation": "[[session/dialog/talk.jsonl]]", "tags": ["animals"]},
    )
    await memory.write(
        "digest/personal/zebra.md",
        "# Zebra\n\n- The zebra sleeps at nine. (observed 2026-06-19)\n- Said: quux.\n\n"
        f"{HOSTILE}\n\n## Sources\n\n- [[daily/2026-06-19/talk.md]]\n- [[daily/gone.md]]\n",
        name="Zebra",
    )
    picture = memory.workspace.root / "resource" / "2026-06-19" / "cup.png"
    picture.parent.mkdir(parents=True)
    picture.write_bytes(PNG)
    return memory
