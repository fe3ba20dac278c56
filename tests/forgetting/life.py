"""A life with a secret in every layer, and a look at every byte of a workspace."""

from __future__ import annotations

import base64
import contextlib
import json
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from agentscope_reme import ReMe
from agentscope_reme.testing import ToolCall

SECRETS = ("quetzalcoatlus", "zeta-4711", "瓢虫密码")
"""Words that only the talk about the locker has."""

DAY = "2026-06-20"
CARD = f"daily/{DAY}/locker-quetzalcoatlus.md"
NODE = "digest/personal/locker-quetzalcoatlus.md"
SHARED = "digest/wiki/gym.md"
LOG = "session/dialog/gym.jsonl"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(64))

TALK: list[dict[str, Any]] = [
    {
        "id": "m1",
        "role": "user",
        "created_at": "2026-06-20T08:00:00+02:00",
        "content": [
            {"type": "text", "text": "My locker is called Quetzalcoatlus, its code is zeta-4711."},
            {"type": "text", "text": "中文名是瓢虫密码。"},
            {
                "type": "data",
                "source": {
                    "type": "base64",
                    "media_type": "image/png",
                    "data": base64.b64encode(PNG).decode(),
                },
            },
        ],
    },
    {
        "id": "m2",
        "role": "assistant",
        "created_at": "2026-06-20T08:00:05+02:00",
        "content": "Noted: the locker Quetzalcoatlus, code zeta-4711.",
    },
]

CARD_CALL = ToolCall(
    "daily_write",
    {
        "name": "locker-quetzalcoatlus",
        "description": "The locker Quetzalcoatlus and its code zeta-4711.",
        "content": "# Locker\n\n- The locker Quetzalcoatlus opens with zeta-4711.\n- 瓢虫密码\n",
    },
)
SCRIPT = [CARD_CALL, "Recorded."]


async def live(reme: ReMe) -> None:
    """Talk, distil, consolidate, change, delete: the secret gets everywhere."""
    result = await reme.auto_memory(TALK, session_id="gym", include_images=True, request_id="r1")
    assert result.path == CARD, result
    await reme.archive("gym", TALK)
    await reme.write(
        NODE,
        "# Locker\n\nThe locker Quetzalcoatlus opens with zeta-4711.\n\n"
        f"## Sources\n\n- [[{CARD}]]\n",
        name="Locker Quetzalcoatlus",
    )
    await reme.edit(NODE, "opens", "opened once")
    await reme.write(
        f"daily/{DAY}/gym-hours.md", "# Gym hours\n\nThe gym opens at seven.\n", name="Gym hours"
    )
    await reme.write(
        SHARED,
        f"# Gym\n\nThe gym opens at seven, see [[{NODE}|the locker]].\n\n"
        f"## Sources\n\n- [[{CARD}]]\n- [[daily/{DAY}/gym-hours.md]]\n",
    )
    await reme.write("digest/wiki/copy.md", "A copy: locker Quetzalcoatlus, zeta-4711, 瓢虫密码.")
    await reme.delete("digest/wiki/copy.md")
    await reme.write(
        f"daily/{DAY}/interests.yaml",
        "date: 2026-06-20\ntopics:\n"
        f"- title: Locker Quetzalcoatlus\n  paths:\n  - {CARD}\n"
        "- title: Gym hours\n  paths:\n  - daily/2026-06-20/gym-hours.md\n",
    )
    checkpoint = reme.workspace.journal / "checkpoints/dream.jsonl"
    checkpoint.parent.mkdir(exist_ok=True)
    unit = {"id": "1", "name": "Locker", "summary": "Code zeta-4711", "paths": [CARD]}
    other = {"id": "2", "name": "Gym", "summary": "Opens at seven", "paths": ["daily/x.md"]}
    row = {"event": "read", "files": {CARD: {"content_hash": "0"}}, "units": [unit, other]}
    checkpoint.write_text(json.dumps(row) + "\n")
    await reme.record(
        "other", [{"role": "user", "content": "Lunch is at noon.", "id": "o1"}], distil=False
    )
    assert await reme.drain()


def leaks(root: Path, words: Iterable[str] = SECRETS) -> list[str]:
    """Every place below a folder, file names included, where one of the words is left.

    Every file is searched as it stands, without regard to case, also in the escapes of JSON and in
    whatever of it is compressed.
    """
    found = []
    for place in sorted(root.rglob("*")):
        name = place.relative_to(root).as_posix()
        data = name.encode() + (b"\0" + place.read_bytes() if place.is_file() else b"")
        texts = [data, *inflated(data)]
        for word in words:
            forms = {
                word.encode(),
                json.dumps(word).strip('"').encode(),
                word.encode().hex().encode(),
            }
            if any(form.lower() in text.lower() for form in forms for text in texts):
                found.append(f"{name}: {word}")
    return found


def inflated(data: bytes) -> list[bytes]:
    """Whatever is compressed inside a file, as the index compresses long passages."""
    found, at = [], data.find(b"\x78\x01")
    while at >= 0:
        with contextlib.suppress(zlib.error):
            found.append(zlib.decompressobj().decompress(data[at:]))
        at = data.find(b"\x78\x01", at + 1)
    return found
