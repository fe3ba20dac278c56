"""``daily/<day>/interests.yaml``: the topics of a day, as a person can read and edit them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from typing import Any, Final

import yaml

from agentscope_reme.errors import BadDocument, NotFound
from agentscope_reme.files.views import FileView
from agentscope_reme.results import Topic
from agentscope_reme.store.tokenizers import MemoryTokenizer
from agentscope_reme.tools.answer_limit import one_line

_ALIKE: Final = 0.6
_LONGEST_TITLE: Final = 120
_LONGEST: Final = 400
_LONGEST_WORD: Final = 200
_MOST_WORDS: Final = 8
_LARGEST: Final = 256 * 1024  # bytes; twenty topics of full length have fewer


def interests_path(day: str) -> str:
    """Where the topics of a day stand."""
    return f"daily/{day}/interests.yaml"


def read_topics(view: FileView, day: str) -> list[Topic]:
    """The topics of a day; none when there is no file.

    Keys that other versions of this file have are passed over.

    Raises:
        BadDocument: the file is no YAML, or holds no list of topics.
    """
    path = interests_path(day)
    try:
        raw = view.read(path)
    except NotFound:
        return []
    if len(raw) > _LARGEST:
        raise _unreadable(path, f"it has {len(raw)} bytes, more than {_LARGEST}")
    try:
        data = yaml.safe_load(raw.decode("utf-8", "replace"))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise _unreadable(path, one_line(error, 200)) from error
    listed = data.get("topics") if isinstance(data, dict) else None
    if listed is None and data in (None, {}):
        return []
    if not isinstance(listed, list):
        raise _unreadable(path, "it has no list of `topics`")
    return [topic for item in listed if (topic := _topic(item)) is not None]


def dump_topics(day: str, topics: Sequence[Topic], *, count: int, diversity_days: int) -> bytes:
    """The bytes of a day's file."""
    told = {
        "date": day,
        "topic_count": count,
        "diversity_days": diversity_days,
        "topics": [topic.model_dump() for topic in topics],
    }
    return yaml.safe_dump(told, allow_unicode=True, sort_keys=False, width=100).encode()


def topic_of(raw: dict[str, Any]) -> Topic | None:
    """A topic out of plain data; ``None`` without a title."""
    return _topic(raw)


def earlier_days(day: str, count: int) -> list[str]:
    """The days before a day, the nearest first."""
    end = date.fromisoformat(day).toordinal()
    return [date.fromordinal(end - n).isoformat() for n in range(1, min(count, end - 1) + 1)]


class Diversity:
    """Tells whether a topic was there lately, in other words too.

    Args:
        known: topics that were there.
    """

    def __init__(self, known: Iterable[Topic]) -> None:
        self._tokenizer = MemoryTokenizer()
        self._known = [self._terms(topic) for topic in known]

    def is_new(self, topic: Topic) -> bool:
        """Whether nothing known is alike."""
        terms = self._terms(topic)
        return bool(terms) and not any(
            len(terms & known) >= _ALIKE * min(len(terms), len(known)) for known in self._known
        )

    def add(self, topic: Topic) -> None:
        """Know one more."""
        self._known.append(self._terms(topic))

    def _terms(self, topic: Topic) -> frozenset[str]:
        return frozenset(self._tokenizer.query_terms(topic.title)) or frozenset([topic.title])


def _topic(item: object) -> Topic | None:
    if isinstance(item, str):
        item = {"title": item}
    if not isinstance(item, dict) or not (title := _words(item.get("title"), _LONGEST_TITLE)):
        return None
    return Topic(
        title=title,
        reason=_words(item.get("reason"), _LONGEST),
        evidence=_words(item.get("evidence"), _LONGEST),
        keywords=_texts(item.get("keywords")),
        paths=_texts(item.get("paths")),
    )


def _words(value: object, longest: int) -> str:
    """A plain value as words; a nested one is none, and may unfold to any size."""
    plain = isinstance(value, str | int | float | date) and value is not False
    return one_line(value, longest) if plain else ""


def _texts(value: object) -> list[str]:
    items = value[:_MOST_WORDS] if isinstance(value, list) else []
    return [words for item in items if (words := _words(item, _LONGEST_WORD))]


def _unreadable(path: str, reason: str) -> BadDocument:
    return BadDocument(path, f"the topics cannot be read: {reason}", "Repair or delete the file.")
