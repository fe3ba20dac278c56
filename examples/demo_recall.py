"""The second half of the demo: a new process, a new agent, the same workspace, questions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Final

from conversations import Question
from demo_agent import Companion, demo_model

from agentscope_reme import ReMe

_PLACE: Final = re.compile(r"([\w./~%-]+\.(?:md|jsonl)):(\d+)-(\d+)")
_HIDDEN: Final = frozenset({"metadata", "journal", "trash", ".locks"})


async def recall(workspace: Path, questions: Sequence[Question]) -> bool:
    """Ask every question and print the answers with their places.

    Returns:
        Whether each answer had the words and came from the session its question names.
    """
    chosen = demo_model()
    print(f"A new process, which knows only {workspace}")
    print(f"Model: {chosen.label}\n")
    right = True
    async with ReMe(workspace, chat_model=chosen.model, formatter=chosen.formatter) as reme:
        for number, question in enumerate(questions, start=1):
            companion = Companion(reme, chosen, f"recall-{number}", record=False)
            answer = await companion.say(question.question)
            await companion.leave()
            place = await _place(reme, question, answer)
            session = await _session_of(reme, place)
            print(f"Q: {question.question}\nA: {answer}")
            print(f"   source: {place or 'none'}" + (f", session {session}" if session else ""))
            missed = _missing(question, answer, session)
            if missed:
                right = False
                print(f"   expected: {missed}")
            print()
    print(tree(workspace))
    return right


def tree(workspace: Path) -> str:
    """The files of the workspace that a person would open, as an indented list."""
    lines = [f"{workspace.name}/"]
    for place in sorted(workspace.rglob("*")):
        parts = place.relative_to(workspace).parts
        if not _HIDDEN.intersection(parts):
            lines.append("  " * len(parts) + parts[-1] + ("/" if place.is_dir() else ""))
    return "\n".join(lines)


def _missing(question: Question, answer: str, session: str | None) -> str:
    words = [word for word in question.must_contain if word.casefold() not in answer.casefold()]
    wrong = question.expected_session is not None and session != question.expected_session
    told = [f"the words {', '.join(words)}"] if words else []
    return " and ".join(told + ([f"session {question.expected_session}"] if wrong else []))


async def _place(reme: ReMe, question: Question, answer: str) -> str | None:
    """The place the answer names, else the best hit for the question."""
    named = _PLACE.search(answer)
    if named:
        return named[0]
    found = await reme.search(question.question, limit=1)
    return next((f"{h.path}:{h.start_line}-{h.end_line}" for h in found.hits), None)


async def _session_of(reme: ReMe, place: str | None) -> str | None:
    if place is None:
        return None
    path = PurePosixPath(place.rpartition(":")[0])
    if path.suffix != ".md":
        return path.stem  # a session log is named after its session
    card = await reme.frontmatter_read(str(path))
    session_id = card.frontmatter.get("session_id")
    return None if session_id is None else str(session_id)
