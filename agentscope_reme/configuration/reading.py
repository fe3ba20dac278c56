"""Reads a configuration file: safe YAML, every value with the line it stands in."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from difflib import get_close_matches
from importlib import resources
from pathlib import Path
from typing import Any, Final

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from agentscope_reme.configuration.given import Given, Layer, Plain, dotted, overlaid
from agentscope_reme.configuration.given import Path as KeyPath
from agentscope_reme.errors import BadInput

BUILT_IN: Final = ("cli", "default")
"""Names that stand for a file of this package."""

_EXTENDS: Final = "extends"
_LARGEST: Final = 1 << 20
_MOST_VALUES: Final = 10_000
"""Aliases in aliases make a small file endless."""
_NAMES_IN_FAULTS: Final = re.compile(r"\b(alias|anchor|tag handle) .*")
"""A password that begins with ``*`` or ``&`` is the name of an alias to YAML."""
_STANDARD: Final = "tag:yaml.org,2002:"
_PLAIN_TAGS: Final = frozenset(
    f"{_STANDARD}{kind}"
    for kind in ("str", "int", "float", "bool", "null", "timestamp", "map", "seq", "value")
)


def read(source: str, folder: Path) -> Layer:
    """What a file says, upon the files it extends.

    Args:
        source: ``cli``, ``default``, or the path of a file, seen from `folder`.
        folder: where paths begin.

    Raises:
        BadInput: a file is missing, unreadable, no YAML, or extends itself.
    """
    return _read(source, folder, (), {})


def _read(source: str, folder: Path, above: tuple[str, ...], known: dict[str, Layer]) -> Layer:
    name, text, home = _content(source, folder)
    place = str(home / name) if home else name
    if place in known:  # bases may share bases, and theirs again
        return known[place]
    if place in above:
        way = " -> ".join(Path(one).name for one in (*above[above.index(place) :], place))
        raise BadInput(source, f"a file that extends itself: {way}", "Remove one `extends`.")
    values = _values(text, name)
    bases = _bases(values.pop((_EXTENDS,), None))
    layers = [_read(base, home or folder, (*above, place), known) for base in bases]
    known[place] = overlaid(*layers, values)
    return known[place]


def _content(source: str, folder: Path) -> tuple[str, str, Path | None]:
    """Name, text and folder of a file; no folder for one of this package."""
    if source in BUILT_IN:
        file = resources.files(__package__) / f"{source}.yaml"
        return f"built-in {source}.yaml", file.read_text(encoding="utf-8"), None
    path = Path(os.path.abspath(folder / source))
    try:
        with path.open("rb") as stream:
            data = stream.read(_LARGEST + 1)
    except (OSError, ValueError) as error:
        near = get_close_matches(source, BUILT_IN, 1)
        meant = f"Did you mean `{near[0]}`?" if near else f"Name a file, {' or '.join(BUILT_IN)}."
        reason = getattr(error, "strerror", None) or error
        raise BadInput(source, f"no configuration to be read: {reason}", meant) from error
    if len(data) > _LARGEST:
        raise BadInput(source, "larger than any configuration", "Name another file.")
    try:
        return path.name, data.decode("utf-8-sig"), path.parent
    except UnicodeDecodeError as error:
        raise BadInput(source, f"no UTF-8: {error}", "Save it as UTF-8.") from error


def _values(text: str, name: str) -> dict[KeyPath, Given]:
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        return dict(_Flat(name).values(node, ()))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{name}:{mark.line + 1}" if mark else name
        told = getattr(error, "problem", None) or "characters YAML does not allow"
        told = _NAMES_IN_FAULTS.sub(r"\1", told)
        remedy = "Correct the line."
        if mark and text[max(mark.index - 1, 0) :].startswith("${"):
            remedy = "Between braces or brackets, put the value into quotes: '${NAME}'."
        raise BadInput(place, f"no YAML: {told}", remedy) from error
    except RecursionError as error:
        raise BadInput(name, "nested too deeply", "Flatten it.") from error


class _Flat:
    """The values of one file, by their way; texts as they stand, for the schema to type."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._count = 0

    def values(self, node: Node | None, path: KeyPath) -> Iterator[tuple[KeyPath, Given]]:
        """All values at and below a node."""
        if node is None:
            return
        self._check(node)
        if not isinstance(node, MappingNode):
            if not path:
                raise BadInput(self._place(node), "no mapping of keys", "Write `key: value`.")
            yield path, Given(self._value(node), self._place(node))
            return
        if path and not node.value:
            yield path, Given({}, self._place(node))
        lines: dict[str, str] = {}
        for key_node, value_node in node.value:
            key = self._key(key_node)
            if key in lines:
                raise BadInput(
                    dotted((*path, key)),
                    f"given twice: {lines[key]} and {self._place(key_node)}",
                    "Keep one of them.",
                )
            lines[key] = self._place(key_node)
            # A dotted key at the top is a way; further down it may be a name with a dot in it.
            yield from self.values(value_node, (*path, key) if path else tuple(key.split(".")))

    def _key(self, node: Node) -> str:
        if not isinstance(node, ScalarNode) or node.tag == "tag:yaml.org,2002:merge":
            raise BadInput(self._place(node), "not a name", "Keys are words; see `extends`.")
        return str(node.value)

    def _value(self, node: Node) -> Any:
        if isinstance(node, SequenceNode):
            return [self._below(item) for item in node.value]
        if isinstance(node, MappingNode):
            return {self._key(key): self._below(value) for key, value in node.value}
        if not isinstance(node, ScalarNode):
            raise TypeError(node)  # there is no fourth kind
        empty = node.style is None and node.tag == "tag:yaml.org,2002:null"
        if empty:
            return None
        return Plain(node.value) if node.style is None else node.value

    def _below(self, node: Node) -> Any:
        self._check(node)
        return self._value(node)

    def _check(self, node: Node) -> None:
        self._count += 1
        if self._count > _MOST_VALUES:
            raise BadInput(self._place(node), "more values than any configuration", "Shorten it.")
        if node.tag not in _PLAIN_TAGS:
            kind = f" {node.tag}" if node.tag.startswith(_STANDARD) else ", told by an `!`"
            raise BadInput(
                self._place(node),
                f"a value of a kind of its own{kind}",
                "Use text, numbers, lists; quote a text that begins with `!`.",
            )

    def _place(self, node: Node) -> str:
        return f"{self._name}:{node.start_mark.line + 1}"


def _bases(given: Given | None) -> list[str]:
    if given is None:
        return []
    listed = given.value if isinstance(given.value, list) else [given.value]
    bases = [base.text if isinstance(base, Plain) else base for base in listed]
    if not all(isinstance(base, str) and base for base in bases):
        raise BadInput(given.origin, "`extends` names no file", "Write one name, or a list.")
    return bases
