"""What a digest node must look like before a dream may commit it.

The agent proposes, this code decides. Every rule answers with words the agent can act on; no rule
asks a model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from agentscope_reme.errors import BadDocument
from agentscope_reme.files.documents import MarkdownDocument
from agentscope_reme.files.wikilinks import WIKILINK, parse_wikilinks
from agentscope_reme.messages import RECALL_TAG
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
    statements_of,
    unmatched,
    with_dates,
)
from agentscope_reme.steps.dream.units import Action, Receipt
from agentscope_reme.tools.answer_limit import one_line
from agentscope_reme.tools.pinned import PIN_KEY, is_pinned

LARGEST_NEW_NODE: Final = 12_000
"""Bytes of a node when it is made."""

LARGEST_GROWTH: Final = 6_000
"""Bytes one unit may add to a node."""

LEAST_KEPT: Final = 0.7
"""What must be left of a node's bytes."""

_LONGEST_DESCRIPTION: Final = 240
_ITS_OWN: Final = ("name", "description")  # front matter a dream may put in other words
_SHOWN: Final = 160
_SAME_SUBJECT: Final = 0.3
_ENDING: Final = frozenset({"observ", "until", "now"})  # stems of what only marks an end


class RefusedError(Exception):
    """A change breaks rules; the text tells the agent which, and what to do.

    ``receipt`` is what the agent had answered, when it is known.
    """

    def __init__(self, faults: list[str], receipt: Receipt | None = None) -> None:
        self.faults = faults
        self.receipt = receipt
        super().__init__(" ".join(faults))


@dataclass(frozen=True)
class Proposal:
    """A node as an agent left it.

    Attributes:
        action: what the agent says it did.
        target: the node.
        before: its bytes until now; ``None`` for a new one.
        after: its bytes as proposed.
        paths: the daily files of the unit.
        days: the days of those files, sorted.
        evidence: their text.
        exists: tells whether a link target is there.
        name: what the unit is called, for a node that does not say.
        summary: what it says, likewise.
    """

    action: Action
    target: str
    before: bytes | None
    after: bytes
    paths: tuple[str, ...]
    days: tuple[str, ...]
    evidence: str
    exists: Callable[[str], bool]
    name: str = ""
    summary: str = ""

    @cached_property
    def old_text(self) -> str:
        """The node until now, empty for a new one."""
        return "" if self.before is None else MarkdownDocument.parse(self.before).text

    @cached_property
    def new_text(self) -> str:
        """The node as proposed."""
        return MarkdownDocument.parse(self.after).text

    @cached_property
    def old(self) -> list[Statement]:
        """Its statements until now."""
        return statements_of(self.old_text)

    @cached_property
    def new(self) -> list[Statement]:
        """Its statements as proposed."""
        return statements_of(self.new_text)

    @cached_property
    def gone(self) -> list[Statement]:
        """Statements that stand there no more."""
        return unmatched(self.old, self.new)

    @cached_property
    def added(self) -> list[Statement]:
        """Statements that did not stand there before."""
        return unmatched(self.new, self.old)


def completed(proposal: Proposal) -> bytes:
    """The proposed node with what the code vouches for: kept front matter, dates of observation.

    Raises:
        RefusedError: the node cannot be read or changed safely.
    """
    document = MarkdownDocument.parse(proposal.after)
    try:
        for key, value in MarkdownDocument.parse(proposal.before or b"").front_matter.items():
            if not _may_become(key, value, document.front_matter.get(key)):
                document.set(key, value)
        for key, value in (("name", proposal.name), ("description", proposal.summary)):
            if value and document.front_matter.get(key) in (None, ""):
                document.set(key, one_line(value, _LONGEST_DESCRIPTION))
        dated = MarkdownDocument.parse(
            with_dates(document.text, proposal.old, proposal.days[-1])
        ).body
        if dated != document.body:
            document.replace_body(dated)
        return document.dump()
    except BadDocument as error:
        raise RefusedError([str(error)]) from error


def _may_become(key: str, value: object, now: object) -> bool:
    """Whether front matter may have another value now: a list may grow, a person's values stay."""
    if now in (None, "") or key in _ITS_OWN:
        return now not in (None, "")
    if isinstance(value, list) and isinstance(now, list):
        return all(item in now for item in value)
    return now == value


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
        yield f"The front matter cannot be read: {document.front_matter_error}."
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
    """A refinement adds words; other words or numbers in their place are another statement."""
    if any(keeps(new, lost) for new in node.added):
        return
    if any(is_about(new, lost) for new in node.added):
        yield (
            f'"{shown}" says something else now. Keep its words and add to them; if it no longer '
            f"holds that is a CORRECT: end it with `until {node.days[-1]}` and add the new one."
        )
    else:
        yield f'The statement "{shown}" was lost: keep it, or add to it.'


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
    _keeps_what_was_observed,
    _corrects_visibly,
    _strikes_only_what_ended,
    _dates_are_evidence,
    _keeps_its_size,
)
