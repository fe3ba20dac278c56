"""The public names are exactly the documented ones, and each of them leads somewhere."""

import importlib
import inspect
import subprocess
import sys
import typing
from collections.abc import Callable, Iterator

import pytest

import agentscope_reme
from agentscope_reme.agentscope_line import installed_line

LINE_ONE = {
    *("CoPawInMemoryMemory", "ReMeCopaw"),
    *("ReMeLongTermMemory", "ReMeMemory", "ReMeToolkit"),
}
LINE_TWO = {"ReMeMemoryMiddleware", "ReMeOffloader"}


FOREIGN = {1: LINE_TWO, 2: LINE_ONE, None: LINE_ONE | LINE_TWO | {"ReMeFormatter"}}[
    installed_line()
]


def test_all_is_sorted_and_without_duplicates() -> None:
    assert agentscope_reme.__all__ == sorted(set(agentscope_reme.__all__))


def test_all_is_exactly_what_the_package_can_resolve() -> None:
    assert set(agentscope_reme.__all__) == set(agentscope_reme._HOME) - FOREIGN
    public = {name for name in dir(agentscope_reme) if not name.startswith("_")}
    modules = {name for name in public if f"agentscope_reme.{name}" in sys.modules}
    helpers = {"Any", "TYPE_CHECKING", "annotations", "import_module", "installed_line"}
    assert public - modules - helpers == set(agentscope_reme.__all__)


@pytest.mark.parametrize("name", agentscope_reme.__all__)
def test_every_name_of_this_line_resolves_to_an_object_of_that_name(name: str) -> None:
    assert getattr(agentscope_reme, name).__name__ == name


@pytest.mark.parametrize("name", sorted(FOREIGN))
def test_a_name_of_the_other_line_says_which_class_to_use(name: str) -> None:
    with pytest.raises(ImportError, match=r"use ReMeMemory"):
        getattr(agentscope_reme, name)


def test_a_star_import_takes_every_name_of_this_line() -> None:
    names: dict[str, object] = {}
    exec("from agentscope_reme import *", names)
    assert set(agentscope_reme.__all__) <= set(names)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="NoSuchThing"):
        _ = agentscope_reme.NoSuchThing


def _calls(name: str) -> Iterator[Callable[..., object]]:
    public = getattr(agentscope_reme, name)
    if not inspect.isclass(public):
        return
    for key in dir(public):
        member = inspect.getattr_static(public, key)
        call = getattr(member, "fget", None) or getattr(member, "__func__", member)
        ours = str(getattr(call, "__module__", "")).startswith("agentscope_reme")
        if inspect.isfunction(call) and ours and (key == "__init__" or not key.startswith("_")):
            yield call


@pytest.mark.parametrize("name", agentscope_reme.__all__)
def test_the_types_of_every_public_call_can_be_looked_up(name: str) -> None:
    for call in _calls(name):
        try:
            typing.get_type_hints(call)
        except ImportError as error:  # it returns a class of the other line, and says so
            if not any(foreign in str(error) for foreign in FOREIGN):
                raise


ROOMS = [
    "chunking",
    "context",
    "copaw",
    "files",
    "runtime",
    "steps",
    "store",
    "testing",
    "tools",
    "typed",
    "typed.stores",
    "vault",
]


@pytest.mark.parametrize("module", ROOMS)
def test_every_room_lists_only_names_it_has(module: str) -> None:
    room = importlib.import_module(f"agentscope_reme.{module}")
    for name in getattr(room, "__all__", []):
        assert name in dir(room), name
        if module != "copaw" or installed_line() == 1:
            assert hasattr(room, name), name


def test_a_room_that_lacks_a_name_says_so() -> None:
    with pytest.raises(AttributeError, match=r"\.steps' has no attribute 'Nothing'"):
        _ = importlib.import_module("agentscope_reme.steps").Nothing


def test_importing_the_package_loads_nothing_heavy() -> None:
    program = (
        "import sys, agentscope_reme;"
        "heavy = {'agentscope', 'numpy', 'jieba', 'rjieba', 'mistletoe', 'pydantic', 'yaml'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    shown = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert shown.stdout.strip() == "[]"


def test_the_facade_needs_neither_agentscope_nor_jieba_to_import() -> None:
    program = (
        "import sys; from agentscope_reme import ReMe;"
        "print(sorted({'agentscope', 'jieba', 'dashscope'} & set(sys.modules)))"
    )
    shown = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert shown.stdout.strip() == "[]"
