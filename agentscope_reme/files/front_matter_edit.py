"""Changing one key of a YAML block and nothing else.

The block's own text is edited, at the offsets the YAML parser reports. Every edit is read back
before it counts: the key must have its new value and all other keys their old ones, or the edit
is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import yaml

from agentscope_reme.errors import BadDocument
from agentscope_reme.files.yaml_values import SafeLoader, read_values

_BY_HAND: Final = "Open the file and change this key by hand."
_NO_FOLDING: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class _Entry:
    """One key of the outermost mapping, as offsets into the block's text."""

    key: str
    key_start: int
    key_end: int
    value_start: int
    value_end: int


class _ValueDumper(yaml.SafeDumper):
    """Writes repeated objects out instead of using aliases, and text of several lines as ``|``."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def represent_text(self, data: str) -> yaml.Node:
        # YAML 1.1 takes these for line ends and would fold them; escapes keep them.
        folds = any(mark in data for mark in "\x85\u2028\u2029")
        style = '"' if folds else "|" if "\n" in data else None
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=style)


class _Line(dict[str, Any]):
    """One key and its value, written as a line of its own; a short value stays on that line."""


def _represent_line(dumper: yaml.SafeDumper, line: _Line) -> yaml.Node:
    return dumper.represent_mapping("tag:yaml.org,2002:map", line.items(), flow_style=False)


_ValueDumper.add_representer(_Line, _represent_line)
_ValueDumper.add_representer(str, _ValueDumper.represent_text)


def set_key(source: str, key: str, value: Any, newline: str) -> str:
    """The block with `key` set; a new key goes to the end.

    Args:
        source: the YAML between the fences, readable (see `read_values`).
        key: the key, compared with keys as they are written.
        value: text, numbers, booleans, dates, ``None``, and lists and mappings of them.
        newline: the line ending for lines that are written.

    Raises:
        BadDocument: the value cannot be written as YAML, or not without touching other keys.
    """
    before, _ = read_values(source)
    expected, error = read_values(_dump(_Line({key: value})))
    if error is not None or len(expected) != 1:
        raise BadDocument(value, f"`{key}` cannot be written as YAML", "Pass plain values.")
    after = {**before, key: next(iter(expected.values()))}
    for candidate in _with_key(source, key, value, newline):
        if _reads_as(candidate, after):
            return candidate
    raise BadDocument(key, "this key cannot be changed without touching others", _BY_HAND)


def remove_key(source: str, key: str) -> str:
    """The block without `key` and its value, duplicates included.

    Raises:
        BadDocument: the key cannot be taken out without touching other keys.
    """
    before, _ = read_values(source)
    after = {name: value for name, value in before.items() if name != key}
    entries, flow_end = _entries(source)
    cuts = (
        _flow_cuts(entries, flow_end, key)
        if flow_end is not None
        else [_line_span(source, entries, i) for i, e in enumerate(entries) if e.key == key]
    )
    candidate = source
    for start, end in reversed(cuts):
        candidate = candidate[:start] + candidate[end:]
    if _reads_as(candidate, after):
        return candidate
    raise BadDocument(key, "this key cannot be removed without touching others", _BY_HAND)


def _reads_as(source: str, expected: dict[str, Any]) -> bool:
    values, error = read_values(source)
    # repr, because equality would fail on NaN and take 1 for True.
    return error is None and _sorted_repr(values) == _sorted_repr(expected)


def _sorted_repr(values: dict[str, Any]) -> list[str]:
    return sorted(repr(pair) for pair in values.items())


def _dump(value: Any, *, flow: bool | None = None) -> str:
    try:
        return yaml.dump(
            value,
            Dumper=_ValueDumper,
            allow_unicode=True,
            sort_keys=False,
            width=_NO_FOLDING,
            default_flow_style=flow,
        )
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise BadDocument(
            value,
            "this value cannot be written as YAML",
            "Pass text, numbers, booleans, dates, None, and lists and mappings of them.",
        ) from error


def _entries(source: str) -> tuple[list[_Entry], int | None]:
    """The outermost keys in order, and where the closing brace stands if the mapping has braces."""
    entries: list[_Entry] = []
    flow_end: int | None = None
    depth = 0
    key: Any = None
    value_start = value_end = 0
    events: Iterator[Any] = yaml.parse(source, Loader=SafeLoader)
    for event in events:
        opens = isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent)
        closes = isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent)
        if not (opens or closes or isinstance(event, yaml.ScalarEvent | yaml.AliasEvent)):
            continue
        depth -= closes
        if depth == 0:
            flow_end = event.start_mark.index if closes and _has_braces(event) else None
            depth += opens
            continue
        if depth == 1 and key is None:
            key = event
            continue
        # The end of a block collection is reported where the next token stands, so it says nothing.
        if not closes or _has_braces(event):
            value_end = event.end_mark.index
        if depth == 1 and not closes:
            value_start = event.start_mark.index
        depth += opens
        if depth == 1 and key is not None:
            text = getattr(key, "value", "")
            where = (key.start_mark.index, key.end_mark.index)
            entries.append(_Entry(text, *where, value_start, value_end))
            key = None
    return entries, flow_end


def _has_braces(event: Any) -> bool:
    """Whether a collection's end is a written bracket; a block collection's end has no width."""
    return bool(event.end_mark.index > event.start_mark.index)


def _with_key(source: str, key: str, value: Any, newline: str) -> Iterator[str]:
    """Ways to write the key, the most faithful first."""
    entries, flow_end = _entries(source)
    found = [i for i, entry in enumerate(entries) if entry.key == key]
    if flow_end is not None:
        yield from _in_braces(source, entries, flow_end, key, value)
    elif found:
        # Of duplicate keys the last one counts.
        yield from _replaced(source, entries, found[-1], value, newline)
    else:
        yield source + _lines(_dump(_Line({key: value})), _indent(source, entries), newline)


def _replaced(
    source: str, entries: list[_Entry], index: int, value: Any, newline: str
) -> Iterator[str]:
    entry = entries[index]
    start, end = _line_span(source, entries, index)
    indent = _indent(source, entries)
    # A one-letter key stands in for the real one, whose spelling is kept.
    written = _lines(_dump(_Line(k=value)), indent, newline)[len(indent) + 1 :]
    head = source[start : entry.key_end]
    rest = source[entry.value_end : _line_end(source, entry.value_end)]
    if _is_comment(rest):
        first, separator, tail = written.partition(newline)
        comment = rest.rstrip("\r\n")
        yield source[:start] + head + first + comment + separator + tail + source[end:]
    yield source[:start] + head + written + source[end:]
    full = _lines(_dump(_Line({entry.key: value})), indent, newline)
    yield source[:start] + full + source[end:]


def _is_comment(rest: str) -> bool:
    return rest.lstrip(" \t").startswith("#") and rest[:1] in (" ", "\t")


def _in_braces(
    source: str, entries: list[_Entry], flow_end: int, key: str, value: Any
) -> Iterator[str]:
    for entry in reversed(entries):
        if entry.key == key:
            written = _flow(value)
            gap = "" if source[: entry.value_start].endswith((" ", "\n", "\t")) else " "
            yield source[: entry.value_start] + gap + written + source[entry.value_end :]
            yield (
                f"{source[: entry.key_start]}{_flow({key: value})[1:-1]}{source[entry.value_end :]}"
            )
            return
    written = _flow({key: value})[1:-1]
    head = source[:flow_end]
    kept = head.rstrip()
    separator = " " if kept.endswith(",") else "" if not entries else ", "
    yield kept + separator + written + head[len(kept) :] + source[flow_end:]


def _flow(value: Any) -> str:
    return _dump(value, flow=True).removesuffix("...\n").strip("\n")


def _flow_cuts(entries: list[_Entry], flow_end: int, key: str) -> list[tuple[int, int]]:
    kept = [i for i, entry in enumerate(entries) if entry.key != key]
    cuts = []
    for i, entry in enumerate(entries):
        if entry.key != key:
            continue
        if kept and i > kept[-1]:
            # Nothing follows: the comma before goes as well.
            cuts.append((entries[i - 1].value_end, entry.value_end))
        else:
            end = entries[i + 1].key_start if i + 1 < len(entries) else flow_end
            cuts.append((entry.key_start, end))
    return cuts


def _line_span(source: str, entries: list[_Entry], index: int) -> tuple[int, int]:
    """Whole lines of an entry; blank and comment lines below it belong to what follows."""
    entry = entries[index]
    start = source.rfind("\n", 0, entry.key_start) + 1
    # A block scalar ends at the start of a later line; step back over the lines it does not own.
    last = max(entry.value_end, entry.key_start)
    if last > start and source[last - 1 : last] == "\n":
        last -= 1
        lines = source[start:last].split("\n")
        while len(lines) > 1 and not lines[-1].strip():
            last -= len(lines.pop()) + 1
    return start, _line_end(source, last)


def _line_end(source: str, position: int) -> int:
    end = source.find("\n", position)
    return len(source) if end < 0 else end + 1


def _indent(source: str, entries: list[_Entry]) -> str:
    if not entries:
        return ""
    start = source.rfind("\n", 0, entries[0].key_start) + 1
    before = source[start : entries[0].key_start]
    return before if not before.strip(" ") else ""


def _lines(dumped: str, indent: str, newline: str) -> str:
    """Dumped YAML at an indentation, with the document's line endings; blank lines stay bare."""
    lines = dumped.removesuffix("\n").split("\n")
    return "".join((indent + line if line.strip() else line) + newline for line in lines)
