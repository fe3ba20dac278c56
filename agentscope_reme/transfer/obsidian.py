"""Obsidian vaults: notes whose links name notes, taken over with links that name paths."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Final

from agentscope_reme.files.text_encoding import decode_text
from agentscope_reme.files.wikilinks import parse_wikilinks, retarget_wikilinks
from agentscope_reme.transfer.found import Format, Found, LinkReport, Note, printable
from agentscope_reme.transfer.sources import Source, is_vault
from agentscope_reme.transfer.vault_links import VaultLinks, same_name
from agentscope_reme.workspace import is_markdown

_UNSAFE: Final = re.compile(r'[<>:"|?*\\\x00-\x1f\x7f\[\]#^\ud800-\udfff]')
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_BLANKS: Final = " ."


def find(source: Source, into: str, only_user: str) -> Found:
    """Every file of the vault below ``into``; a note named by a date becomes a card of that day.

    Links are rewritten to the paths they meant. What led nowhere is left as it is, and told.

    Raises:
        BadInput: a file cannot be read.
    """
    root = source.top_folder
    names = [name for name in source.names() if name.startswith(root)]
    old = [name.removeprefix(root) for name in names]
    label = _safe(source.name) or "vault"
    places = _places(old, into or f"digest/wiki/{label}", label)
    links, report = VaultLinks(old), LinkReport()
    found = Found(note_count=len(names), links=report)
    found.notes = (
        Note(places[path], _rewritten(data, path, places, links, report))
        for name, path in zip(names, old, strict=True)
        if (data := found.bytes_of(source, name)) is not None
    )
    return found


def _places(paths: Sequence[str], into: str, label: str) -> dict[str, str]:
    """Where each file goes; names no link or disk takes are made safe, and stay apart."""
    wanted = {path: _place(path, into, label) for path in paths}
    taken = {above for place in wanted.values() for above in _above(same_name(place))}
    places: dict[str, str] = {}
    for path, first in wanted.items():
        stem, ending = posixpath.splitext(first)
        place, number = first, 2
        while same_name(place) in taken:
            place, number = f"{stem}-{number}{ending}", number + 1
        taken.add(same_name(place))
        places[path] = place
    return places


def _above(place: str) -> Iterator[str]:
    """The folders a file stands in: no other file can have their names."""
    while place := posixpath.dirname(place):
        yield place


def _place(path: str, into: str, label: str) -> str:
    stem = posixpath.splitext(posixpath.basename(path))[0]
    if is_markdown(path) and _is_day(stem):
        return f"daily/{stem}/{label}.md"
    parts = (_safe(part) or "unnamed" for part in path.split("/"))
    return posixpath.join(into, *parts)


def _is_day(stem: str) -> bool:
    try:
        return bool(_DAY.fullmatch(stem) and date.fromisoformat(stem))
    except ValueError:
        return False


def _safe(name: str) -> str:
    return _UNSAFE.sub("-", name).strip(_BLANKS)


def _rewritten(
    data: bytes, path: str, places: Mapping[str, str], links: VaultLinks, report: LinkReport
) -> bytes:
    if not is_markdown(path):
        return data
    text, encoding = decode_text(data)
    moves: dict[str, str] = {}
    for link in parse_wikilinks(text, path):
        meant = links.meant(link.target_path, path)
        told = f"{printable(path)}: [[{link.target_path}]]"
        if meant is None:
            report.unresolved.append(told)
            continue
        report.resolved += 1
        moves[link.target_path] = places[meant.path]
        if meant.others:
            report.ambiguous.append(f"{told} -> {meant.path}")
    if not moves:
        return data
    return encoding.encode(retarget_wikilinks(text, moves)[0])


def _recognises(source: Source) -> bool:
    """A folder with Obsidian's own, or a source in which most files are notes."""
    if is_vault(source):
        return True
    names = source.names()
    return bool(names) and 2 * sum(map(is_markdown, names)) >= len(names)


OBSIDIAN: Final = Format("obsidian", _recognises, find)
