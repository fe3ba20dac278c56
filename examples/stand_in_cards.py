"""How the stand-in writes a memory card: it sorts what the person said, and adds nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from stand_in_words import frequent_words, is_question, joined, sentences

_TURN: Final = re.compile(r"^\[(?P<name>[^\]\n]+?) @ (?P<time>[^\]\n]+)\] ", re.MULTILINE)
_DECISION: Final = re.compile(r"(?i)\b(?:decided|decision|because|chose|chosen|agreed)\b|决定|因为")
_CORRECTION: Final = re.compile(
    r"(?i)\b(?:correction|actually|moved from|instead of now|no longer|no more|changed my mind)\b"
    r"|更正|改为|改成|不再"
)
_MACHINES: Final = frozenset({"assistant", "system", "ai", "bot", "tool"})
_SMALL_TALK_WORDS: Final = 3
_TOPIC_WORDS: Final = 3
_DESCRIPTION_SENTENCES: Final = 2
_LONGEST_DESCRIPTION: Final = 240  # characters

NOTES, DECISIONS, CORRECTIONS = "Notes", "Decisions", "Corrections"


@dataclass(frozen=True, slots=True)
class Statement:
    """Something a person said, and under which heading it belongs."""

    heading: str
    when: str
    who: str
    text: str

    @property
    def bullet(self) -> str:
        """The statement as one line of a card."""
        return f"- {self.when} {self.who}: {self.text}"


@dataclass(frozen=True, slots=True)
class Card:
    """What ``daily_write`` is given."""

    name: str
    description: str
    content: str


def statements(transcript: str) -> list[Statement]:
    """What people said in a transcript of ``[name @ time] text`` turns, sentence by sentence.

    Questions, small talk and the assistant's own turns are left out. Neighbouring sentences of one
    turn under one heading stay together.
    """
    found: list[Statement] = []
    for name, time, text in _turns(transcript):
        if name.casefold() in _MACHINES:
            continue
        when = time[:16].replace("T", " ")
        grouped: dict[str, list[str]] = {}
        for sentence in sentences(text):
            if not is_question(sentence) and not _is_small_talk(sentence):
                grouped.setdefault(_heading(sentence), []).append(sentence)
        found += [Statement(heading, when, name, joined(said)) for heading, said in grouped.items()]
    return found


def write_card(transcript: str) -> Card | None:
    """A card of the statements in a transcript; ``None`` when nobody stated anything."""
    said = statements(transcript)
    if not said:
        return None
    words = frequent_words((statement.text for statement in said), _TOPIC_WORDS)
    first = [sentence for statement in said for sentence in sentences(statement.text)]
    return Card(
        name="-".join(words) or "conversation",
        description=joined(first[:_DESCRIPTION_SENTENCES])[:_LONGEST_DESCRIPTION],
        content=_body(said),
    )


def added_bullets(transcript: str, card_text: str) -> str:
    """The bullets a card lacks, one per line; empty when it has them all."""
    fresh = [s.bullet for s in statements(transcript) if s.text not in card_text]
    return "\n".join(fresh)


def last_bullet(card_text: str) -> str | None:
    """The last bullet line that stands only once in a card, to add others after it."""
    lines = [line for line in card_text.splitlines() if line.startswith("- ")]
    return next((line for line in reversed(lines) if card_text.count(line) == 1), None)


def _body(said: list[Statement]) -> str:
    parts = []
    for heading in (NOTES, DECISIONS, CORRECTIONS):
        bullets = [statement.bullet for statement in said if statement.heading == heading]
        if bullets:
            parts.append(f"## {heading}\n\n" + "\n".join(bullets))
    return "\n\n".join(parts) + "\n"


def _turns(transcript: str) -> list[tuple[str, str, str]]:
    marks = list(_TURN.finditer(transcript))
    ends = [mark.start() for mark in marks[1:]] + [len(transcript)]
    return [
        (mark["name"], mark["time"], transcript[mark.end() : end].strip())
        for mark, end in zip(marks, ends, strict=True)
    ]


def _heading(sentence: str) -> str:
    if _CORRECTION.search(sentence):
        return CORRECTIONS
    return DECISIONS if _DECISION.search(sentence) else NOTES


def _is_small_talk(sentence: str) -> bool:
    if sentence.startswith("(") and sentence.endswith(")"):
        return True  # a picture's reference, not something that was said
    latin = sentence.isascii()
    return len(sentence.split()) < _SMALL_TALK_WORDS if latin else len(sentence) < _SMALL_TALK_WORDS
