"""``[[path#anchor|alias]]``: finding the edges of the file graph and retargeting them.

Paths are literal. Links in fenced, indented or inline code and in HTML comments are examples, and
``\\[[x]]`` is escaped: neither is an edge, so neither is rewritten. Front matter links are edges of
kind ``source``, quoted or not.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from agentscope_reme.errors import BadPath
from agentscope_reme.files.front_matter import FrontMatterBlock
from agentscope_reme.files.hidden_spans import hidden_spans
from agentscope_reme.files.markdown_scan import MarkdownScan, scan_markdown
from agentscope_reme.schema import FileLink

if TYPE_CHECKING:  # loads YAML, which most starts do without
    from agentscope_reme.files.yaml_tokens import YamlStyle, YamlToken

WIKILINK: Final = re.compile(
    # The pipe of an alias may be escaped, as it must be inside a table.
    r"\[\[(?P<target>[^\[\]|#\n]+?)(?:#(?P<anchor>[^\[\]|\n]+?))?(?:\\?\|(?P<alias>[^\[\]\n]+))?\]\]"
)
_UNLINKABLE: Final = re.compile(r"[\[\]|#\r\n]")
_PLAIN_IN_YAML: Final = re.compile(r"[^\W\d_][\w./ -]*\Z")
_NEEDS_YAML: Final = re.compile(r"(?:^|\s)#|\\|''|\[\[[^\]]*,|\[\[[ \t]*[\"']")
_LIST_OF_LISTS: Final = re.compile(r",|\A[ \t]*[\"']")


class _Edge(NamedTuple):
    """One link as it stands in the text: where its target is, and how YAML quotes it."""

    start: int
    end: int
    target_start: int
    target_end: int
    target: str
    anchor: str | None
    kind: Literal["body", "source"]
    style: YamlStyle | None = None


def parse_wikilinks(text: str, source_path: str = "") -> list[FileLink]:
    """The links of a whole file, front matter included, in order of appearance.

    Links with the same target and anchor are folded into the first.

    Args:
        text: the file's text.
        source_path: the file's workspace path, copied into each link.
    """
    if "[[" not in text:
        return []
    return links_of(scan_markdown(text), source_path)


def links_of(scan: MarkdownScan, source_path: str = "") -> list[FileLink]:
    """`parse_wikilinks` for a text that was already scanned."""
    seen: dict[tuple[str, str | None], FileLink] = {}
    for edge in _edges(scan):
        key = (edge.target, edge.anchor)
        if key not in seen:
            seen[key] = FileLink(
                source_path=source_path,
                target_path=edge.target,
                target_anchor=edge.anchor,
                kind=edge.kind,
            )
    return list(seen.values())


def retarget_wikilinks(text: str, moves: Mapping[str, str]) -> tuple[str, int]:
    """Point links at the new places of moved files.

    Rewrites the targets of exactly those links `parse_wikilinks` sees; bang, anchor, alias and
    spacing stay, and no other character changes. In front matter the new path is quoted where
    YAML needs it.

    Args:
        text: the whole file.
        moves: new path by old path.

    Returns:
        The text, and how many links were rewritten.

    Raises:
        BadPath: a new path holds a character no wikilink can (``[ ] | #`` or a line end).
    """
    for new in moves.values():
        if not new.strip() or _UNLINKABLE.search(new):
            raise BadPath(
                new, "no wikilink can point at this path", "Avoid `[`, `]`, `|`, `#` in names."
            )
    if "[[" not in text:
        return text, 0
    pieces: list[str] = []
    position = count = 0
    for edge in _edges(scan_markdown(text), styles=True):
        path = moves.get(edge.target)
        if path is None:
            continue
        start, end, written = _rewritten(text, edge, path)
        pieces += (text[position:start], written)
        position = end
        count += 1
    pieces.append(text[position:])
    return "".join(pieces), count


def _rewritten(text: str, edge: _Edge, path: str) -> tuple[int, int, str]:
    """What replaces which characters so that the edge points at `path`."""
    target = edge.target_start, edge.target_end
    match edge.style:
        case "'":
            return *target, path.replace("'", "''")
        case '"':
            return *target, path.replace("\\", "\\\\").replace('"', '\\"')
        case "flow" if not _PLAIN_IN_YAML.match(path):
            link = text[edge.start : edge.target_start] + path + text[edge.target_end : edge.end]
            quoted = link.replace("'", "''")
            return edge.start, edge.end, f"'{quoted}'"
        case _:
            return *target, path


def _edges(scan: MarkdownScan, *, styles: bool = False) -> Iterator[_Edge]:
    text, block = scan.text, scan.front_matter
    body_start = 0
    if block is not None:
        yield from _front_matter_edges(text, block, styles=styles)
        body_start = block.body_start
    matches = [m for m in WIKILINK.finditer(text, body_start) if not _is_escaped(text, m.start())]
    if not matches:
        return
    hidden = hidden_spans(scan, [match.start() for match in matches])
    starts = [start for start, _ in hidden]
    for match in matches:
        before = bisect_left(starts, match.end()) - 1
        if before >= 0 and hidden[before][1] > match.start():
            continue
        edge = _edge(match, "body")
        if edge is not None:
            yield edge


def _is_escaped(text: str, position: int) -> bool:
    backslashes = position
    while backslashes > 0 and text[backslashes - 1] == "\\":
        backslashes -= 1
    return (position - backslashes) % 2 == 1


def _edge(
    match: re.Match[str], kind: Literal["body", "source"], style: YamlStyle | None = None
) -> _Edge | None:
    raw = match["target"]
    target = raw.strip()
    if not target:
        return None
    anchor = (match["anchor"] or "").strip() or None
    start = match.start("target") + len(raw) - len(raw.lstrip())
    where = (*match.span(), start, start + len(target))
    return _Edge(*where, _unquoted(target, style), anchor, kind, style)


def _unquoted(target: str, style: YamlStyle | None) -> str:
    if style == "'":
        return target.replace("''", "'")
    if style == '"' and "\\" in target:
        from agentscope_reme.files.yaml_tokens import unescaped

        return unescaped(target)
    return target


def _front_matter_edges(text: str, block: FrontMatterBlock, *, styles: bool) -> Iterator[_Edge]:
    """Links in the YAML; `styles` asks for the quoting of each, which costs a YAML scan."""
    source = text[block.start : block.end]
    if "[[" not in source:
        return
    # Without these characters no link can be a comment, hold an escape or be a list of lists.
    tokens: list[YamlToken] = []
    if styles or _NEEDS_YAML.search(source):
        from agentscope_reme.files.yaml_tokens import tokens_of

        tokens = tokens_of(source)
    token_starts = [token[0] for token in tokens]
    for match in WIKILINK.finditer(text, block.start, block.end):
        style: YamlStyle | None = None
        if tokens:
            offset = match.start() - block.start
            index = bisect_right(token_starts, offset) - 1
            if index < 0 or offset >= tokens[index][1]:
                continue  # a comment
            style = tokens[index][2]
        elif block.error and _starts_with_comment(text, match.start()):
            continue
        if style == "flow" and _LIST_OF_LISTS.search(match["target"]):
            continue
        edge = _edge(match, "source", style)
        if edge is not None:
            yield edge


def _starts_with_comment(text: str, position: int) -> bool:
    line_start = text.rfind("\n", 0, position) + 1
    return text[line_start:position].lstrip(" \t").startswith("#")
