"""What a checkpoint looks like, and what only pretends to be one.

A checkpoint may end with notes: lines this library adds itself, about what a summary could not
take in. They are taken off before a model sees the text and put back behind the new one, so no
model can drop them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

REQUIRED: Final = {
    "en": (("goal", "goals"), ("progress",), ("next steps", "next step")),
    "zh": (("目标",), ("进展", "进度"), ("下一步", "后续步骤", "下一步计划")),
}
"""Without these a text is no checkpoint: it would not say what to do, how far it is and what is
next. The other sections may be missing when there is nothing to say."""

_NOTES: Final = {"en": "[Not in this summary: {what}]", "zh": "[未纳入本摘要：{what}]"}
_NOTE: Final = re.compile(r"\[(?:Not in this summary: |未纳入本摘要：)[^\n]*\]")
_CARRIED: Final = {"en": "From the earlier checkpoint: {names}", "zh": "来自较早的检查点：{names}"}
_HEADING: Final = re.compile(r" {0,3}#{1,6}\s+(.+)")
_PLACEHOLDERS: Final = frozenset(
    {"", "none", "n/a", "nothing", "empty", "unknown", "tbd", "无", "暂无", "没有", "...", "…"}
)
_IDENTIFIER: Final = re.compile(
    r"`([^`\n]{3,120})`|((?:[\w.~-]+)?(?:[/\\][\w.~-]+)+\.\w{1,8}|[\w-]+\.(?:py|md|js|ts|go|rs|java|"
    r"c|h|cpp|json|ya?ml|toml|sh|sql|txt|csv|ipynb)\b)"
)
_MOST_CARRIED: Final = 20
_FENCE: Final = re.compile(r"\A```[\w-]*\n(.*?)\n?```\s*\Z", re.DOTALL)
_THOUGHTS: Final = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)


def is_checkpoint(text: str) -> bool:
    """Whether a text has the required sections, in English or in Chinese, and says something.

    Headings of any level count, whatever their case, emphasis, numbering or final colon. A
    skeleton, in which nothing but placeholders stands below the headings, is no checkpoint.
    """
    found = {
        _heading_name(match[1]) for line in text.splitlines() if (match := _HEADING.fullmatch(line))
    }
    complete = any(
        all(found.intersection(spellings) for spellings in required)
        for required in REQUIRED.values()
    )
    return complete and _says_something(text)


def bare_answer(text: str) -> str:
    """What a model answered, without the thoughts before it and the fence around it."""
    said = _THOUGHTS.sub("", text).strip()
    fenced = _FENCE.match(said)
    return fenced[1].strip() if fenced else said


def split_notes(summary: str) -> tuple[str, list[str]]:
    """A summary without the notes at its end, and the notes."""
    lines = summary.rstrip().split("\n")
    notes: list[str] = []
    while lines and (not lines[-1].strip() or _NOTE.fullmatch(lines[-1].strip())):
        line = lines.pop().strip()
        notes[:0] = [line] if line else []
    return "\n".join(lines), notes


def with_notes(summary: str, notes: Sequence[str]) -> str:
    """A summary with its notes behind it, each once."""
    return "\n\n".join(filter(None, (summary, "\n".join(dict.fromkeys(notes)))))


def note_of(what: str, language: str) -> str:
    """One note, in the form `split_notes` knows."""
    return _NOTES[language].format(what=" ".join(what.split()))


def carried(previous: str, summary: str, language: str) -> str:
    """The summary, with the files and names of the earlier one when it forgot every one of them.

    A model may drop single names that became irrelevant; one that dropped all of several has not
    merged but overwritten.
    """
    names = _identifiers(previous)
    if len(names) < 2 or any(name in summary for name in names):
        return summary
    told = ", ".join(f"`{name}`" for name in names[:_MOST_CARRIED])
    return f"{summary}\n\n{_CARRIED[language].format(names=told)}"


def _identifiers(text: str) -> list[str]:
    found = (match[1] or match[2] for match in _IDENTIFIER.finditer(text))
    return list(dict.fromkeys(name.strip() for name in found if name.strip()))


def _says_something(text: str) -> bool:
    lines = (line.strip() for line in text.splitlines())
    said = [line for line in lines if line and not _HEADING.fullmatch(line)]
    return any(_plain(line) not in _PLACEHOLDERS for line in said)


def _plain(line: str) -> str:
    """A line without its list mark, task box and brackets."""
    words = unicodedata.normalize("NFKC", line).casefold()
    words = re.sub(r"^(?:[-*+]|\d+[.)])?\s*(?:\[[ x~]?\])?\s*", "", words)
    return words.strip(" \t*_()（）[].。-")


def _heading_name(heading: str) -> str:
    plain = unicodedata.normalize("NFKC", heading).casefold()
    plain = re.sub(r"^[\s*_#\d.)、]+", "", plain)
    return plain.rstrip(" \t*_#:").strip()
