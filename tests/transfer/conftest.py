"""A memory to bring things into, and small exports as their products write them."""

from __future__ import annotations

import json
import zipfile
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme import ReMe, Settings
from agentscope_reme.testing import FakeClock

QUIET = Settings(watch=False, fsync=False)


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[ReMe]:
    clock = FakeClock("2026-06-20T09:30:00", timezone="UTC")
    async with ReMe(tmp_path / "memory", settings=QUIET, clock=clock) as reme:
        yield reme


def files_of(root: Path) -> dict[str, bytes]:
    """What a person would find in a workspace."""
    places = (place for place in root.rglob("*") if place.is_file())
    named = {place.relative_to(root).as_posix(): place.read_bytes() for place in places}
    internal = ("metadata/", ".locks/", "journal/", "trash/")
    return {name: data for name, data in named.items() if not name.startswith(internal)}


def write_json(place: Path, value: Any) -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps(value, ensure_ascii=False), "utf-8")
    return place


def write_zip(place: Path, files: Mapping[str, bytes]) -> Path:
    with zipfile.ZipFile(place, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return place


def chatgpt_node(
    key: str,
    parent: str | None,
    role: str,
    parts: list[Any],
    time: float | None = None,
    **more: Any,
) -> dict[str, Any]:
    message = {
        "id": key,
        "author": {"role": role},
        "create_time": time,
        "content": {"content_type": "text", "parts": parts},
        "metadata": {},
        **more,
    }
    return {"id": key, "parent": parent, "message": message, "children": []}


def chatgpt_export(*nodes: dict[str, Any], last: str, name: str = "c1") -> dict[str, Any]:
    mapping = {node["id"]: node for node in nodes}
    for node in nodes:
        if node["parent"] in mapping:
            mapping[node["parent"]]["children"].append(node["id"])
    return {"conversation_id": name, "title": "Tea", "mapping": mapping, "current_node": last}
