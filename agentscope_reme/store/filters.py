"""Whether a file may answer a search."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any, Final

from agentscope_reme.errors import BadInput
from agentscope_reme.store.records import SearchFilter
from agentscope_reme.workspace import is_picture, layer_of

TAGS_PER_FILE: Final = 3
LONGEST_TAG: Final = 64
_SAID: Final = "session"
_DATE_IN_PATH: Final = re.compile(r"(?:^|/)(\d{4}-\d{2}-\d{2})(?=/|\.\w+$)")
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")


def date_of(path: str) -> str | None:
    """The day a path belongs to: ``daily/2026-06-20/x.md`` and ``memory/2026-06-20.md``."""
    found = _DATE_IN_PATH.search(path)
    return found[1] if found else None


def day_of(path: str, front_matter: Mapping[str, Any]) -> str | None:
    """The day a file belongs to: that of its path, else ``date`` in its front matter."""
    of_path = date_of(path)
    if of_path is not None or "date" not in front_matter:
        return of_path
    written = str(plain_value(front_matter["date"]))[:10]
    return written if _is_date(written) else None


def normalise_tag(tag: object) -> str | None:
    """The one spelling of a tag: case-folded, blanks inside as ``_``; ``None`` when it is none."""
    if isinstance(tag, bool) or not isinstance(tag, str | int):
        return None
    spelled = "_".join(str(tag).split()).casefold()
    if not any(c.isalnum() for c in spelled) or len(spelled) > LONGEST_TAG:
        return None
    return spelled


def normalise_tags(tags: Iterable[object]) -> tuple[str, ...]:
    """The valid tags among `tags`, each once, in order."""
    spelled = (normalise_tag(tag) for tag in tags)
    return tuple(dict.fromkeys(tag for tag in spelled if tag is not None))


def check_filter(where: SearchFilter) -> None:
    """Refuse a filter that could only mislead.

    Raises:
        BadInput: a date is not ``YYYY-MM-DD``, the first is after the last, or no tag is left
            after normalisation.
    """
    for day in (where.start_date, where.end_date):
        if day is not None and not _is_date(day):
            raise BadInput(day, "this is no date", "Write dates as YYYY-MM-DD.")
    if where.start_date and where.end_date and where.start_date > where.end_date:
        raise BadInput(where.start_date, f"this is after {where.end_date}", "Swap the two dates.")
    if where.tags and not normalise_tags(where.tags):
        raise BadInput(where.tags, "no valid tag among these", "A tag needs a letter or a digit.")


def path_matches(where: SearchFilter, path: str) -> bool:
    """Whether the conditions on the path hold."""
    if where.paths is not None and path not in where.paths:
        return False
    if where.pictures is not None and where.pictures != is_picture(path):
        return False
    if where.path_prefix and not path.startswith(where.path_prefix):
        return False
    if where.layers is not None or where.exclude_layers:
        layer = layer_of(path)
        if layer in where.exclude_layers:
            return False
        if where.layers is not None and layer not in where.layers:
            return False
    return True


def asks_for_contents(where: SearchFilter) -> bool:
    """Whether there are conditions for `content_matches` to look at."""
    return bool(where.tags or where.fields or where.start_date or where.end_date)


def asks_for_days(where: SearchFilter | None) -> bool:
    """Whether there is a condition on dates."""
    return where is not None and bool(where.start_date or where.end_date)


def days_of_chunk(
    path: str, front_matter: Mapping[str, Any], metadata: Mapping[str, Any]
) -> list[str]:
    """The days a chunk belongs to, oldest first: when it was said, else the day of its file."""
    said = metadata.get("days")
    if isinstance(said, list) and said:
        return [str(day) for day in said]
    day = day_of(path, front_matter)
    return [] if day is None else [day]


def days_within(where: SearchFilter | None, days: Sequence[str]) -> list[str]:
    """Those of some days that a condition on dates lets pass, in their order."""
    if where is None:
        return list(days)
    return [day for day in days if (where.start_date or day) <= day <= (where.end_date or day)]


def content_matches(
    where: SearchFilter, path: str, tags: Collection[str], front_matter: Mapping[str, Any]
) -> bool:
    """Whether the conditions on dates, tags and front matter hold; undated files have any date.

    What was said in a session has dates of its own: see `days_within`.
    """
    if asks_for_days(where) and layer_of(path) != _SAID:
        day = day_of(path, front_matter)
        if day and not days_within(where, [day]):
            return False
    if where.tags and not set(normalise_tags(where.tags)) & set(tags):
        return False
    return all(_field_matches(front_matter.get(k), v) for k, v in where.fields.items())


def plain_value(value: Any) -> Any:
    """A front matter value as JSON keeps it: dates as text, mapping keys as text."""
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(key): plain_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain_value(item) for item in value]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return str(value)


def _field_matches(actual: Any, expected: Any) -> bool:
    """Equal; for a list on either side, one common member is enough."""
    actual, expected = plain_value(actual), plain_value(expected)
    have = actual if isinstance(actual, list) else [actual]
    want = expected if isinstance(expected, list) else [expected]
    return any(item in have for item in want)


def _is_date(day: str) -> bool:
    try:
        return bool(_DATE.fullmatch(day) and date.fromisoformat(day))
    except ValueError:
        return False
