"""What a digest node must look like before a dream may commit it.

The agent proposes, this code decides. Every rule answers with words the agent can act on; no rule
asks a model.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from agentscope_reme.errors import sentence
from agentscope_reme.files.documents import MarkdownDocument
from agentscope_reme.files.wikilinks import WIKILINK, parse_wikilinks
from agentscope_reme.messages import RECALL_TAG
from agentscope_reme.steps.dream.denials import denies, denying_leads
from agentscope_reme.steps.dream.proposal import Proposal, RefusedError
from agentscope_reme.steps.dream.statements import (
    DAY,
    PLACEHOLDER,
    Statement,
    core_of,
    days_in,
    ends,
    has_sources,
    is_about,
    keeps,
    remarks_of,
    source_links,
)
from agentscope_reme.tools.answer_limit import one_line
from agentscope_reme.tools.pinned import PIN_KEY, is_pinned

LARGEST_NEW_NODE: Final = 12_000
"""Bytes of a node when it is made."""

LARGEST_GROWTH: Final = 6_000
"""Bytes one unit may add to a node."""

LEAST_KEPT: Final = 0.7
"""What must be left of a node's bytes."""

_SHOWN: Final = 160
_SAME_SUBJECT: Final = 0.3
_ENDING: Final = frozenset({"observ", "until", "now"})  # stems of what only marks an end


def check_node(proposal: Proposal) -> None:
    """Let a proposed node pass, or say everything that is wrong with it.

    Raises:
        RefusedError: at least one rule is broken.
    """
    faults = [fault for rule in _RULES for fault in rule(proposal)]
    if faults:
        raise RefusedError(faults)


def _is_a_document(node: Proposal) -> Iterator[str]:
    try:
        node.after.decode("utf-8")
    except UnicodeDecodeError:
        yield "The node is not valid UTF-8."
    document = MarkdownDocument.parse(node.after)
    if document.front_matter_error:
        yield f"The front matter cannot be read: {sentence(document.front_matter_error)}"
    for key in ("name", "description"):
        if not str(document.front_matter.get(key) or "").strip():
            yield f"The front matter has no `{key}`."
    if not node.new:
        yield "The node says nothing: write at least one statement."
    if f"<{RECALL_TAG}" in node.new_text:
        yield "Recalled memory is not evidence: leave it out."


def _keeps_the_person_in_charge(node: Proposal) -> Iterator[str]:
    if node.before is not None and is_pinned(node.before):
        yield f"{node.target} is pinned: leave it as it is."
    elif is_pinned(node.after):
        yield f"Only a person pins a node: leave `{PIN_KEY}` out."


def _has_its_sources(node: Proposal) -> Iterator[str]:
    old, new = source_links(node.old_text), source_links(node.new_text)
    if not has_sources(node.new_text):
        yield "There is no `## Sources` section."
    for lost in sorted(old - new):
        yield f"The Sources entry [[{lost}]] was lost: keep it."
    mine = set(node.paths)
    missing = mine - old
    if not (new & missing if missing else new & mine):
        listed = ", ".join(f"[[{path}]]" for path in sorted(missing or mine))
        yield f"Sources must list at least one of {listed}."


def _keeps_its_links(node: Proposal) -> Iterator[str]:
    old, new = _links(node.old_text), _links(node.new_text)
    for lost in sorted(old.keys() - new.keys()):
        yield f"The link [[{lost}]] was lost: keep it."
    for link in sorted(new.keys() - old.keys()):
        target = new[link]
        if "://" not in target and target != node.target and not node.exists(target):
            yield f"[[{link}]] leads nowhere: link only to files that exist."


def _keeps_headings_and_remarks(node: Proposal) -> Iterator[str]:
    new = [core_of(words) for words in remarks_of(node.new_text)]
    for lost in remarks_of(node.old_text):
        if not any(core_of(lost) in words for words in new):
            yield f'The heading or remark "{one_line(lost, _SHOWN)}" was lost: keep it.'


def _keeps_its_statements(node: Proposal) -> Iterator[str]:
    for lost in node.gone:
        shown = one_line(lost.text, _SHOWN)
        if any(ends(new, lost) for new in node.new):
            continue
        match node.action:
            case "REFINE":
                yield from _refined(node, lost, shown)
            case "CORRECT":
                yield (
                    f'The replaced statement must stay readable: write "{shown}" with '
                    f"`until {node.days[-1]}` inside its brackets, and what replaced it."
                )
            case _:
                yield f'The statement "{shown}" was lost: keep it as it is.'


def _refined(node: Proposal, lost: Statement, shown: str) -> Iterator[str]:
    """A refinement adds words; other words or numbers in their place are another statement.

    So are words that deny it.
    """
    kept = [new for new in node.added if keeps(new, lost)]
    if any(not denies(new.core, lost.core) for new in kept):
        return
    if kept:
        yield (
            f'"{shown}" is denied or doubted by the words that were added. If it no longer holds '
            f"that is a CORRECT: end it with `until {node.days[-1]}` and add what holds now; else "
            "leave it as it is, and write what is not so as a statement of its own."
        )
    elif any(is_about(new, lost) for new in node.added):
        yield (
            f'"{shown}" says something else now. Keep its words and add to them; if it no longer '
            f"holds that is a CORRECT: end it with `until {node.days[-1]}` and add the new one."
        )
    else:
        yield f'The statement "{shown}" was lost: keep it, or add to it.'


def _leads_in_without_denying(node: Proposal) -> Iterator[str]:
    for lead in denying_leads(node.old_text, node.new_text, node.old, node.new):
        yield (
            f'"{one_line(lead, _SHOWN)}" denies statements that stand below it: leave them where '
            f"they were. What no longer holds is ended by a CORRECT with `until {node.days[-1]}`."
        )


def _keeps_what_was_observed(node: Proposal) -> Iterator[str]:
    held = {(s.core, day) for s in node.new for day in (*s.observed, *s.until)}
    present = {s.core for s in node.new}
    for old in node.old:
        for day in (*old.observed, *old.until):
            if old.core in present and (old.core, day) not in held:
                yield f'The date {day} of "{one_line(old.text, _SHOWN)}" was lost: keep it.'


def _corrects_visibly(node: Proposal) -> Iterator[str]:
    ended = {(s.core, day) for s in node.old for day in s.until}
    fresh = [s for s in node.new if any((s.core, day) not in ended for day in s.until)]
    if node.action != "CORRECT":
        if fresh:
            yield "Ending a statement with `until` is a CORRECT: name that action."
        return
    pairs = [(new, old) for new in fresh for old in node.old if ends(new, old)]
    if not pairs:
        yield (
            "A CORRECT keeps the old statement and ends it with "
            f"`(observed <its date>, until {node.days[-1]})`."
        )
    holding = [new for new in node.added if not new.until]
    for new, old in pairs:
        in_place = new.all_words - old.all_words - _ENDING
        if not in_place and not any(is_about(one, old, share=_SAME_SUBJECT) for one in holding):
            yield (
                f'Nothing says what replaced "{one_line(old.text, _SHOWN)}": add the statement '
                "that holds now, about the same thing and in the same words where they still fit."
            )


def _strikes_only_what_ended(node: Proposal) -> Iterator[str]:
    struck = {statement.core for statement in node.old if statement.is_struck}
    for new in node.new:
        if new.is_struck and not new.until and new.core not in struck:
            yield (
                f'"{one_line(new.text, _SHOWN)}" is struck out: leave that to a CORRECT, which '
                f"ends it with `until {node.days[-1]}`."
            )


def _dates_are_evidence(node: Proposal) -> Iterator[str]:
    if PLACEHOLDER in node.new_text and PLACEHOLDER not in node.old_text:
        yield f"`{PLACEHOLDER}` is not a date: leave it out, the date is added for you."
    old_days = days_in(node.old_text)
    for lost in sorted(old_days - days_in(node.new_text)):
        yield f"The date {lost} was lost: keep it."
    told = old_days | set(node.days)
    noted = told | set(DAY.findall(node.evidence))
    observed = {day for statement in node.new for day in statement.observed}
    for day in sorted(observed - told):
        yield f"{day} is not a day of these notes: use {' or '.join(node.days)}."
    for day in sorted(days_in(node.new_text) - noted - observed):
        yield f"{day} stands in none of the notes: write dates as the notes do."


def _keeps_its_size(node: Proposal) -> Iterator[str]:
    before, after = len(node.before or b""), len(node.after)
    if node.before is None:
        if after > LARGEST_NEW_NODE:
            yield f"A new node has at most {LARGEST_NEW_NODE} bytes, this one {after}."
        return
    if after < LEAST_KEPT * before:
        yield f"The node shrank from {before} to {after} bytes: keep what it says."
    if after > before + LARGEST_GROWTH:
        yield f"One unit adds at most {LARGEST_GROWTH} bytes, this one {after - before}."


def _links(text: str) -> dict[str, str]:
    """Targets by the link as it is written, without its alias."""
    if not WIKILINK.search(text):
        return {}
    return {
        link.target_path + (f"#{link.target_anchor}" if link.target_anchor else ""): (
            link.target_path
        )
        for link in parse_wikilinks(text)
    }


_RULES: Final = (
    _is_a_document,
    _keeps_the_person_in_charge,
    _has_its_sources,
    _keeps_its_links,
    _keeps_headings_and_remarks,
    _keeps_its_statements,
    _leads_in_without_denying,
    _keeps_what_was_observed,
    _corrects_visibly,
    _strikes_only_what_ended,
    _dates_are_evidence,
    _keeps_its_size,
)
