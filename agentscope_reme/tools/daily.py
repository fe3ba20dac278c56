"""The cards of one day and the page that lists them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Any, Final

from agentscope_reme.errors import BadInput, BadPath, Conflict, NotFound, ReMeError, StorageFailed
from agentscope_reme.files.changes import Expected
from agentscope_reme.files.documents import MarkdownDocument
from agentscope_reme.files.session_names import DIALOG_FOLDER, session_file
from agentscope_reme.files.views import ViewChange
from agentscope_reme.results import ChangeResult, FileEntry, ListResult
from agentscope_reme.schema import content_hash
from agentscope_reme.tools.access import CARD_KEYS, RESOURCE_KEYS, UNREADABLE, Access
from agentscope_reme.tools.answer_limit import capped_lines, one_line
from agentscope_reme.tools.change_results import change_result
from agentscope_reme.tools.changing import compose
from agentscope_reme.tools.day_page import card_paths, refresh_day_page
from agentscope_reme.tools.listing import describe_entry
from agentscope_reme.tools.plain_arguments import mapping, optional_text, plain_text

_RESERVED: Final = frozenset({"name", "description", *CARD_KEYS})
_LONGEST_NAME_BYTES: Final = 120
_MOST_SUFFIXES: Final = 1000
_NOT_IN_NAMES: Final = re.compile(r"[/\\\[\]#|]")


def daily_list(access: Access, date: str | None) -> ListResult:
    """See `FileOperations.daily_list`."""
    day = access.day(date)
    access.readable(f"daily/{day}")
    entries: list[FileEntry] = []
    lines: list[str] = []
    for path in card_paths(access, day):
        with suppress(NotFound):  # deleted since the folder was listed
            lines.append(_card_line(access, path))
            entry = describe_entry(access, path)
            entries.extend([entry] if entry else [])
    advice = f"Use `list` on daily/{day} for the names alone."
    answer, shown = capped_lines(lines, access.answer_bytes, advice)
    return ListResult(
        answer=answer or f"No cards on {day}.", entries=entries, truncated=shown < len(lines)
    )


def daily_write(
    access: Access,
    name: str,
    description: str,
    content: str,
    session_id: str | None,
    date: str | None,
    metadata: Mapping[str, Any] | None,
) -> ChangeResult:
    """See `FileOperations.daily_write`."""
    day, session = _whose(access, date, session_id)
    stem = _stem(name)
    fields: dict[str, Any] = {
        "name": stem,
        "description": optional_text(description, "description") or None,
    }
    if session:
        source = access.scope.source_path or session_file(access.workspace, DIALOG_FOLDER, session)
        fields |= {"session_id": session, "source_conversation": f"[[{source}]]"}
    elif access.scope.resource:
        fields["source_resource"] = f"[[{access.scope.resource}]]"
    given = mapping(metadata, "metadata")
    reserved = {*_RESERVED, *RESOURCE_KEYS} if access.scope.is_card else _RESERVED
    fields |= {key: value for key, value in given.items() if key not in reserved}
    data = compose("card.md", content, fields)
    path, change = _put(access, day, stem, session, data)
    said = f"{'Created' if change.created else 'Replaced'} {path} ({len(data)} bytes)."
    if not path.endswith(f"/{stem}.md"):
        said += f" The name {stem!r} belongs to another card."
    result = change_result(path, change, said)
    if not access.scope.is_card:  # otherwise the code that started the run lists the card
        _list_card(access, day, result)
    return result


def _list_card(access: Access, day: str, result: ChangeResult) -> None:
    """Refresh the page; the card is safe already, so a page that cannot follow is only told."""
    try:
        page = refresh_day_page(access, day)
    except ReMeError as error:
        result.answer += f"\nThe page of the day was not refreshed: {error}"
    else:
        result.touched.extend([page.path] if page.replaced else [])


def daily_reindex(access: Access, date: str | None) -> ChangeResult:
    """See `FileOperations.daily_reindex`."""
    day = access.day(date)
    access.writable(f"daily/{day}.md")
    return refresh_day_page(access, day)


def _whose(access: Access, date: str | None, session_id: str | None) -> tuple[str, str]:
    """The day and the session of a new card: the scope decides where it is set."""
    scope = access.scope
    day = access.day(date)
    session = optional_text(session_id, "session_id") or scope.session_id or ""
    if scope.day not in (None, day):
        raise BadInput(date, "this run writes another day", f"Use date={scope.day!r}.")
    if scope.resource:
        return day, ""
    if scope.session_id not in (None, session):
        raise BadInput(session_id, "this run writes another session", f"Use {scope.session_id!r}.")
    return day, session


def _stem(name: str) -> str:
    stem = plain_text(name, "name").strip().removesuffix(".md").strip()
    remedy = "Use a short topic such as 'login-refactor-decision'."
    if not stem:
        raise BadInput(name, "the name of a card is empty", remedy)
    found = _NOT_IN_NAMES.search(stem)
    if found:
        raise BadInput(name, f"the name of a card cannot contain {found[0]!r}", remedy)
    if len(stem.encode("utf-8", "replace")) > _LONGEST_NAME_BYTES:
        raise BadInput(
            name, f"the name of a card is longer than {_LONGEST_NAME_BYTES} bytes", remedy
        )
    return stem


def _put(access: Access, day: str, stem: str, session: str, data: bytes) -> tuple[str, ViewChange]:
    """Write the card where no other session's card stands; a lost race tries the next place."""
    _refuse_second_card(access, day, stem, session)
    standing = _standing(access, day)
    for number in range(1, _MOST_SUFFIXES):
        name = stem if number == 1 else f"{stem}-{number}"
        path = access.workspace.normalise(f"daily/{day}/{name}.md")
        expected = _free_or_own(access, path, session, standing)
        if isinstance(expected, bool):
            continue
        try:
            access.new_place(path)
            return path, access.view.write(path, data, expected=expected)
        except Conflict:
            standing = _standing(access, day)
        except BadPath:  # another session took the place between the two looks
            standing = _standing(access, day)
            if _free_or_own(access, path, session, standing) is not False:
                raise
    raise BadInput(stem, f"{_MOST_SUFFIXES} cards have this name", "Choose another name.")


def _standing(access: Access, day: str) -> dict[str, list[str]]:
    """The files of a day, by their paths without regard to case."""
    found: dict[str, list[str]] = {}
    for path in access.view.paths(f"daily/{day}"):
        found.setdefault(path.casefold(), []).append(path)
    return found


def _free_or_own(
    access: Access, path: str, session: str, standing: Mapping[str, list[str]]
) -> Expected | bool:
    """``None`` for a free place, the hash of this session's own card, ``False`` for others'."""
    same = standing.get(path.casefold())
    if not same:
        return None
    try:
        if path in same and access.is_own_card(path, session):
            return content_hash(access.view.read(path))
    except NotFound:  # deleted between the two looks
        return None
    except StorageFailed:  # whose it is cannot be told, so it is somebody else's
        return False
    return False


def _refuse_second_card(access: Access, day: str, stem: str, session: str) -> None:
    """One run makes one card: a second name for it would leave two."""
    if not access.scope.is_card:
        return
    for path in card_paths(access, day):
        taken = PurePosixPath(path).stem
        if _is_of(access, path, session) and not re.fullmatch(re.escape(stem) + r"(-\d+)?", taken):
            raise BadInput(
                stem,
                f"this run already has the card {path}",
                f"Use name={taken!r} to replace it.",
            )


def _is_of(access: Access, path: str, session: str) -> bool:
    try:
        return access.is_own_card(path, session)
    except (NotFound, StorageFailed):  # gone, or nobody can tell whose it is
        return False


def _card_line(access: Access, path: str) -> str:
    try:
        document = MarkdownDocument.parse(access.view.read(path))
    except StorageFailed:
        return f"- path: {path} {UNREADABLE}"
    words = [f"- path: {path}"]
    if document.front_matter_error:
        words.append("(front matter cannot be read)")
    order = dict.fromkeys(("name", "description", *CARD_KEYS))
    for key in {**order, **document.front_matter}:
        value = document.front_matter.get(key)
        if value not in (None, "", [], {}):
            words.append(f"{key}: {one_line(value)}")
    return " ".join(words)
