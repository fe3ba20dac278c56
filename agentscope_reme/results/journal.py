"""What happened, and what is forgotten."""

from pydantic import Field

from agentscope_reme.results.base import Part, Result


class ChangeRecord(Part):
    """One line of the journal, as a person reads it."""

    change_id: str
    at: str
    actor: str
    operation: str
    paths: list[str] = Field(default_factory=list)
    state: str = "done"


class HistoryResult(Result):
    """Changes, newest first."""

    changes: list[ChangeRecord] = Field(default_factory=list)


class DiffResult(Result):
    """A unified diff of one change; ``answer`` is the diff, or what fits into an answer of it."""

    change_id: str


class ForgottenPart(Part):
    """One thing that is forgotten, or that stays though it is near.

    Attributes:
        layer: ``turn`` (a line of a session log), ``archive`` and ``transcript`` (the same turn
            where it was kept in full), ``summary`` (where it waits to be summarised), ``image``
            and other ``attachment``, ``card``, ``statement`` (lines of a file), ``digest``,
            ``resource``, ``file``, ``link`` (to something that goes), ``name`` (of a file, or in
            its front matter) or ``topic``.
        path: the file.
        start_line: 1-based; 0 for the whole file.
        end_line: inclusive.
        text: how it begins.
        reason: why it goes, or why it stays.
    """

    layer: str
    path: str
    start_line: int = 0
    end_line: int = 0
    text: str = ""
    reason: str = ""


class ForgetResult(Result):
    """What was forgotten, or with ``dry_run`` what would be.

    Attributes:
        dry_run: nothing was changed.
        plan_id: names exactly these parts; the same files give the same id.
        parts: everything that goes.
        kept: what stays and says something of it, and why: pinned files, and statements that rest
            on other sources as well.
        similar: what a search finds beside the exact matches of a query; it stays.
        change_id: the receipt, as `history` lists it.
        earlier: what goes of the journal and the trash, counted: ``changes`` that cannot be undone
            any more, ``versions`` and files in the ``trash``.
        indexed: false when the index follows with the next change.
    """

    dry_run: bool = True
    plan_id: str = ""
    parts: list[ForgottenPart] = Field(default_factory=list)
    kept: list[ForgottenPart] = Field(default_factory=list)
    similar: list[ForgottenPart] = Field(default_factory=list)
    change_id: str = ""
    earlier: dict[str, int] = Field(default_factory=dict)
    indexed: bool = True
