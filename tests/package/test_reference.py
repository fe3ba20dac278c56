"""The pages made from the code say what the code says, on either AgentScope line."""

from __future__ import annotations

import importlib.util
import inspect
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import agentscope_reme
from agentscope_reme import ReMe, Settings
from agentscope_reme.agentscope_line import installed_line

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    known = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    assert known is not None
    assert known.loader is not None
    module = importlib.util.module_from_spec(known)
    known.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", ["api.md", "settings.md"])
def test_a_page_is_up_to_date(generator: ModuleType, page: str) -> None:
    made = generator.pages()[page]
    assert made == (DOCS / page).read_text("utf-8"), "run `python docs/generate.py`"


def test_every_number_of_the_settings_has_a_unit() -> None:
    rows = re.findall(r"^\| `(\w+)` \| `(.*?)` \| (.*?) ?\|", _page("settings.md"), flags=re.M)
    assert [name for name, _, _ in rows] == list(Settings.model_fields)
    numbers = {
        name for name, field in Settings.model_fields.items() if field.annotation in (int, float)
    }
    assert {name for name, _, unit in rows if name in numbers and not unit} == set()


def test_every_public_call_of_a_facade_is_there_with_its_sentence() -> None:
    facades: list[Any] = [ReMe]
    if installed_line() == 1:
        facades.append(agentscope_reme.ReMeCopaw)
    for facade in facades:
        section = _page("api.md").partition(f"\n## {facade.__name__}\n")[2].partition("\n## ")[0]
        listed = re.findall(r"^- `(?:await )?(\w+)[(:].*`<br>\S", section, flags=re.M)
        members = {
            name
            for name, value in inspect.getmembers(facade)
            if not name.startswith("_")
            and (inspect.isfunction(value) or isinstance(value, property))
        }
        assert members == set(listed) - {facade.__name__}


def test_every_result_a_call_returns_has_its_fields_there() -> None:
    text = _page("api.md")
    returned = set(re.findall(r"-> (\w+Result)`", text))
    assert len(returned) > 15
    assert returned <= set(re.findall(r"^### (\w+)$", text, flags=re.M))


def _page(name: str) -> str:
    return (DOCS / name).read_text("utf-8")
