"""A rule-based stand-in for a chat model: no AI, no network, the same answer every time.

It lets the examples run without an API key. It plays two parts through the same interface a model
has (messages and tools in; text or one tool call out): the writer of memory cards, and a chat
agent that looks things up with ``memory_search`` and quotes what it found.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from stand_in_cards import CORRECTIONS, added_bullets, last_bullet, write_card
from stand_in_words import content_words, frequent_words, is_chinese, is_question, sentences, stems

LABEL: Final = "rule-based stand-in, no AI"

FINISH_FUNCTIONS: Final = ("generate_structured_output", "generate_response")
"""How the two AgentScope lines ask a model for a structured answer."""

_CONVERSATION: Final = re.compile(r"<conversation>\n(.*?)\n</conversation>", re.DOTALL)
_CARD: Final = re.compile(r"<card>\n(.*?)\n</card>", re.DOTALL)
_CARD_PATH: Final = re.compile(r"^(?:Card: |卡片：)(\S.*)$", re.MULTILINE)
_HIT: Final = re.compile(
    r"^=+ (?P<place>.+?:\d+-\d+) \[.*?\](?: (?P<date>\d{4}-\d\d-\d\d))?(?: .*)? =+$"
)
_ENTRY: Final = re.compile(
    r"^\[(?P<place>[^|\]]+:\d+-\d+)(?: \| (?P<date>\d{4}-\d\d-\d\d))?(?: \| .*)?\]$"
)
_LINKS: Final = re.compile(r"^ +(?:outlinks|inlinks) \(\d+\):|^ +→ |^<")
_HEADING: Final = re.compile(r"^#+ (.*)$|^\((.*)\)$")
_BULLET_HEAD: Final = re.compile(r"^- (?:\d{4}-\d\d-\d\d \d\d:\d\d )?")
_SEARCH_LIMIT: Final = 8
_LEAST_OVERLAP: Final = 0.2  # of the weight of the question's words
_SAME_MATTER: Final = 0.4  # a correction that shares this much is about the question
_CORRECTION_BONUS: Final = 0.6
_DISTILLED_BONUS: Final = 0.1
_STRUCTURED_WORDS: Final = 5


@dataclass(frozen=True, slots=True)
class Turn:
    """One message as a model receives it.

    ``kind`` is ``memory`` for passages the memory put into the prompt by itself.
    """

    kind: Literal["system", "user", "assistant", "call", "result", "memory"]
    text: str
    tool: str = ""


@dataclass(frozen=True, slots=True)
class Say:
    """The model speaks."""

    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """The model calls one tool."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


def decide(turns: Sequence[Turn], tools: Mapping[str, Mapping[str, Any]]) -> Say | Call:
    """What the stand-in does next.

    Args:
        turns: the prompt, oldest first.
        tools: the JSON schema of the arguments, by tool name.
    """
    start = max((i for i, turn in enumerate(turns) if turn.kind == "user"), default=-1)
    asked = turns[start].text if start >= 0 else ""
    since = turns[start + 1 :]
    for name in FINISH_FUNCTIONS:
        if name in tools and (len(tools) == 1 or _done(since)):
            return Call(name, fill(tools[name], asked))
    transcript = _CONVERSATION.search(asked)
    if transcript:
        return _write(asked, transcript[1], since, tools)
    if is_question(asked):
        return _look_up(asked, since, tools)
    return Say("好的，记下了。" if is_chinese(asked) else "Noted.")


def fill(schema: Mapping[str, Any], prompt: str) -> dict[str, Any]:
    """A value of a JSON schema made of the prompt's own words, for structured answers."""
    transcript = _CONVERSATION.search(prompt)
    text = transcript[1] if transcript else prompt
    definitions = schema.get("$defs", {})
    properties: Mapping[str, Any] = schema.get("properties", {})
    return {name: _filled(part, text, definitions) for name, part in properties.items()}


def _done(since: Sequence[Turn]) -> bool:
    return bool(since) and since[-1].kind == "result"


def _write(
    asked: str,
    transcript: str,
    since: Sequence[Turn],
    tools: Mapping[str, Mapping[str, Any]],
) -> Say | Call:
    if any(turn.kind == "result" for turn in since):
        return Say(since[-1].text)
    path, old = _CARD_PATH.search(asked), _CARD.search(asked)
    if path and old and "edit" in tools:
        fresh, anchor = added_bullets(transcript, old[1]), last_bullet(old[1])
        if fresh and anchor:
            new = f"{anchor}\n{fresh}"
            return Call("edit", {"path": path[1].strip(), "old": anchor, "new": new})
        return Say("Nothing to record.")
    card = write_card(transcript)
    if card is None:
        return Say("Nothing to record.")
    if "daily_write" not in tools:
        return Say(card.content)
    return Call(
        "daily_write",
        {"name": card.name, "description": card.description, "content": card.content},
    )


def _look_up(
    question: str, since: Sequence[Turn], tools: Mapping[str, Mapping[str, Any]]
) -> Say | Call:
    results = [turn for turn in since if turn.kind == "result" and turn.tool == "memory_search"]
    if "memory_search" in tools and not results:
        query = " ".join(dict.fromkeys(content_words(question))) or question
        return Call("memory_search", {"query": query, "limit": _SEARCH_LIMIT})
    evidence = results[-1:] or [turn for turn in since if turn.kind == "memory"]
    found = best_line(question, "\n".join(turn.text for turn in evidence))
    if found is None:
        return Say(
            "记忆里没有找到相关内容。"
            if is_chinese(question)
            else "I found nothing about that in memory."
        )
    line, place = found
    if is_chinese(question):
        return Say(f"记忆中写着：“{line}”（{place}）")
    return Say(f'From memory: "{line}" ({place})')


@dataclass(frozen=True, slots=True)
class _Line:
    text: str
    place: str
    date: str
    heading: str


def best_line(question: str, hits: str) -> tuple[str, str] | None:
    """The line of a search answer that shares most with the question, and its ``path:start-end``.

    A word counts for more the fewer lines have it; a correction beats what it corrects, a card
    beats the raw conversation, and among equals the newer line wins.
    """
    lines = _lines(hits)
    wanted = stems(question)
    spread = Counter(stem for line in lines for stem in stems(line.text) & wanted)
    weight = {stem: math.log(1 + len(lines) / count) for stem, count in spread.items()}
    total = sum(weight.values()) or 1.0

    def rank(line: _Line) -> tuple[float, str]:
        score = sum(weight[stem] for stem in stems(line.text) & wanted) / total
        if score >= _SAME_MATTER and CORRECTIONS in line.heading:
            score += _CORRECTION_BONUS
        if score and not line.place.startswith("session/"):
            score += _DISTILLED_BONUS
        return round(score, 6), line.date

    best = max(lines, key=rank, default=None)
    if best is None or rank(best)[0] < _LEAST_OVERLAP:
        return None
    return _BULLET_HEAD.sub("", best.text), best.place


def _lines(hits: str) -> list[_Line]:
    lines: list[_Line] = []
    place = date = heading = ""
    for raw in hits.splitlines():
        head = _HIT.match(raw) or _ENTRY.match(raw)
        title = _HEADING.match(raw)
        if head:
            place, date, heading = head["place"], head["date"] or "", ""
        elif title:
            heading = title[1] or title[2]
        elif place and raw.strip() and not _LINKS.match(raw):
            lines.append(_Line(raw.strip(), place, date, heading))
    return lines


def _filled(part: Mapping[str, Any], text: str, definitions: Mapping[str, Any]) -> Any:
    if "$ref" in part:
        part = definitions[str(part["$ref"]).rpartition("/")[2]]
    if "anyOf" in part:
        part = part["anyOf"][0]
    if "enum" in part:
        return part["enum"][0]
    match part.get("type"):
        case "array" if part.get("items", {}).get("type") == "string":
            return frequent_words([text], _STRUCTURED_WORDS)
        case "array":
            return []
        case "object":
            properties: Mapping[str, Any] = part.get("properties", {})
            return {name: _filled(inner, text, definitions) for name, inner in properties.items()}
        case "boolean":
            return False
        case "integer" | "number":
            return part.get("minimum", 0)
        case _:
            return (sentences(text) or [""])[0]
