"""Whoever opens a package reads first what it is for."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import agentscope_reme

ROOMS = sorted(Path(agentscope_reme.__file__).parent.rglob("__init__.py"))


@pytest.mark.parametrize("place", ROOMS, ids=lambda place: place.parent.name)
def test_in_a_sentence(place: Path) -> None:
    said = ast.get_docstring(ast.parse(place.read_text("utf-8"))) or ""
    assert len(said.split()) >= 6
    assert said.split("\n\n")[0].endswith((".", ":"))


def test_what_is_markdown_is_said_once() -> None:
    root = Path(agentscope_reme.__file__).parent
    saying = [
        place.relative_to(root).as_posix()
        for place in root.rglob("*.py")
        if '".markdown"' in place.read_text("utf-8") or 'endswith(".md")' in place.read_text()
    ]
    assert saying == ["workspace.py"]
