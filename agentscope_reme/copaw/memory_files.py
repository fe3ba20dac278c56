"""What a summary run may do to memory files, and what it may not do to them.

The run has ``MEMORY.md`` and ``memory/``, nothing else. Every text it stages is compared with the
one that stood there: a summary adds and corrects, it does not lose what people or earlier runs
wrote.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from agentscope_reme.errors import BadInput, BadPath, Conflict, ModelFailed
from agentscope_reme.files.change_set import ChangeSet
from agentscope_reme.files.changes import ANY, Expected, Write
from agentscope_reme.files.text_encoding import decode_guessing
from agentscope_reme.files.views import FileView, LookingView, ViewChange
from agentscope_reme.tools.scope import Scope
from agentscope_reme.workspace import is_markdown

LONG_TERM: Final = "MEMORY.md"
DAYS: Final = "memory/"
AREAS: Final = (LONG_TERM, DAYS)

KEPT_LINES: Final = 0.6
KEPT_SIZE: Final = 0.9
SLACK: Final = 200
"""A file keeps this share of its lines and of its characters, give or take `SLACK` characters, and
never less than half of these: room to correct and to merge, not to start over."""

_DAY: Final = re.compile(r"memory/\d{4}-\d{2}-\d{2}\.md", re.IGNORECASE)
_HEADING: Final = re.compile(r"(?m)^ {0,3}#{1,6}[ \t]+(.+?)[ \t#]*$")


def day_file(day: str) -> str:
    """Where the notes of a day stand."""
    return f"{DAYS}{day}.md"


def memory_scope(actor: str) -> Scope:
    """The rights in the CoPaw layout: exactly ``MEMORY.md`` and ``memory/``."""
    return Scope(actor=actor, writable=AREAS, readable=AREAS)


class OneDayView(LookingView):
    """A `FileView` in which the file of no other day can be begun: code says what day it is.

    Args:
        view: the staged files.
        day: ``YYYY-MM-DD``, the day of the run.

    Attributes:
        conflict: somebody else changed a file after the run had looked at it.
    """

    def __init__(self, view: FileView, day: str) -> None:
        super().__init__(view)
        self._day: Final = day
        self.conflict: Conflict | None = None

    def write(self, path: str, data: bytes, *, expected: Expected = ANY) -> ViewChange:
        """Create or replace a file that may stand there, without losing what stood there.

        Raises:
            BadPath: it is the new file of another day, or no Markdown.
            BadInput: too much of what stands there would be gone.
            Conflict: the file is not the expected one.
        """
        if not is_markdown(path):
            raise BadPath(path, "memory files are Markdown", "Use a name that ends with `.md`.")
        if _DAY.fullmatch(path) and path != day_file(self._day) and not self.exists(path):
            raise BadPath(path, f"today is {self._day}", f"Use `{day_file(self._day)}`.")
        before = self._view.read(path) if self.exists(path) else b""
        if reason := lost(before, data):
            raise BadInput(path, reason, "Keep what stands there; use edit to add or to correct.")
        try:
            return self._view.write(path, data, expected=expected)
        except Conflict as error:
            self.conflict = error
            raise

    def delete(self, path: str) -> ViewChange:
        """Refused.

        Raises:
            BadPath: always.
        """
        raise BadPath(path, "a summary deletes nothing", "Leave the file as it is.")

    def move(
        self, src: str, dst: str, *, overwrite: bool = False, retarget: bool = True
    ) -> ViewChange:
        """Refused.

        Raises:
            BadPath: always.
        """
        raise BadPath(src, "a summary moves nothing", "Leave the file where it is.")


def refuse_losses(base: FileView, staged: ChangeSet) -> None:
    """Compare everything that is staged with what stands there, after many small edits, too.

    Raises:
        ModelFailed: a file would lose too much; nothing may be committed.
    """
    for change in staged.changes():
        before = base.read(change.path) if base.exists(change.path) else b""
        after = change.data if isinstance(change, Write) else b""
        if reason := lost(before, after):
            raise ModelFailed(
                change.path, reason, "Nothing was changed; the conversation stays pending."
            )


def lost(before: bytes, after: bytes) -> str:
    """Why a new text of a file is refused, or an empty text when it is not."""
    new = decode_guessing(after)[0]
    if not new.strip():
        return "the file would be empty"
    old = decode_guessing(before)[0]
    gone = Counter(_headings(old)) - Counter(_headings(new))
    if gone:
        return f"the section {next(iter(gone))!r} would be gone"
    if len(new) < max(len(old) * KEPT_SIZE - SLACK, len(old) / 2):
        return f"it would shrink from {len(old)} to {len(new)} characters"
    lines = _lines(old)
    kept = sum((lines & _lines(new)).values())
    if kept < int(sum(lines.values()) * KEPT_LINES):
        return f"only {kept} of {sum(lines.values())} lines would be left"
    return ""


def _headings(text: str) -> list[str]:
    return [" ".join(match[1].split()).casefold() for match in _HEADING.finditer(text)]


def _lines(text: str) -> Counter[str]:
    """What a text says, its headings aside."""
    said = (line.strip() for line in _HEADING.sub("", text).splitlines())
    return Counter(line for line in said if line)
