"""A digest node as an agent left it, and what the code adds to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from agentscope_reme.errors import BadDocument
from agentscope_reme.files.documents import MarkdownDocument
from agentscope_reme.steps.dream.statements import (
    Statement,
    statements_of,
    unmatched,
    with_dates,
)
from agentscope_reme.steps.dream.units import Action, Receipt
from agentscope_reme.tools.answer_limit import one_line

_LONGEST_DESCRIPTION: Final = 240
_ITS_OWN: Final = ("name", "description")  # front matter a dream may put in other words


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
