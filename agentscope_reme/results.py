"""What the calls of `ReMe` return: always ``success``, ``answer`` and typed fields."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from agentscope_reme.messages import DataBlock
from agentscope_reme.schema import FileLink, SearchHit


class Result(BaseModel):
    """The root of every result.

    ``answer`` is what an agent or a terminal shows; it alone tells what happened.
    """

    model_config = ConfigDict(extra="forbid", defer_build=True)  # a process needs a few of them

    success: bool = True
    answer: str = ""


class Failure(BaseModel):
    """One item of a batch that could not be done; the others went on."""

    item: str
    reason: str


class BranchCounts(BaseModel):
    """How many candidates each branch of a search found, and how many hits were returned."""

    keyword: int = 0
    vector: int = 0
    returned: int = 0
    hybrid: bool = False


class SearchResult(Result):
    """Hits, best first.

    ``keywords_only`` is true whenever there is an embedding model and vectors were of no use: it
    does not answer, or they are still being made. ``notice`` says why in words, the first time.
    """

    hits: list[SearchHit] = Field(default_factory=list)
    counts: BranchCounts = BranchCounts()
    truncated: bool = False
    keywords_only: bool = False
    notice: str = ""


class RecallResult(Result):
    """A pack for a prompt: ``answer`` is the wrapped text, empty without evidence.

    ``media`` holds images to show beside the text, when they were asked for. ``keywords_only`` and
    ``notice`` are as in `SearchResult`; the notice stands in the pack as well.
    """

    hits: list[SearchHit] = Field(default_factory=list)
    media: list[DataBlock] = Field(default_factory=list)
    evidence: bool = False
    tokens: int = 0
    keywords_only: bool = False
    notice: str = ""


class NodeHit(BaseModel):
    """One digest node found by name, description or content."""

    path: str
    score: float
    name: str = ""
    description: str = ""


class NodeSearchResult(Result):
    """Digest nodes, best first."""

    nodes: list[NodeHit] = Field(default_factory=list)


class RecordResult(Result):
    """What a recording call made durable."""

    session_path: str = ""
    appended: int = 0
    duplicates: int = 0
    pending: bool = False


class AutoMemoryResult(Result):
    """What became of a conversation.

    ``path`` is ``None`` when no card was written: the model found nothing worth keeping, or the
    work is still ``pending`` because no model was there or it failed. ``tags`` come with the card,
    at most three; ``auto_tag`` names cards that were written without one, and why.
    """

    path: str | None = None
    created: bool = False
    modified: bool = False
    session_path: str = ""
    date: str = ""
    images: list[str] = Field(default_factory=list)
    tags: list[str] = Field(default_factory=list)
    auto_tag: list[Failure] = Field(default_factory=list)
    pending: bool = False
    failed: list[Failure] = Field(default_factory=list)
    model_calls: int = 0


class DreamUnit(BaseModel):
    """One thing worth knowing in the long run, as a dream found it in daily notes."""

    name: str
    summary: str = ""
    bucket: str = ""
    paths: list[str] = Field(default_factory=list)


class Integration(BaseModel):
    """What became of a unit: ``CREATE``, ``CORROBORATE``, ``REFINE`` or ``CORRECT`` of a node."""

    unit: str
    action: str
    target_path: str
    note: str = ""


class Topic(BaseModel):
    """Something the person may want to come back to."""

    title: str
    reason: str = ""
    evidence: str = ""
    keywords: list[str] = Field(default_factory=list)
    paths: list[str] = Field(default_factory=list)


class DreamResult(Result):
    """What one dream did.

    ``units`` are those this run took on, ``carried`` the names of units and paths of daily files
    that wait for the next run (``pending`` says whether there are any, or another process dreams).
    ``diff`` is the one change in the history, ``change_id`` its id; a dry run has the diff only.
    """

    date: str = ""
    units: list[DreamUnit] = Field(default_factory=list)
    integrated: list[Integration] = Field(default_factory=list)
    failed: list[Failure] = Field(default_factory=list)
    topics: list[Topic] = Field(default_factory=list)
    diff: str = ""
    change_id: str = ""
    dry_run: bool = False
    pending: bool = False
    carried: list[str] = Field(default_factory=list)
    model_calls: int = 0
    agent_runs: int = 0


class ProactiveResult(Result):
    """The topics of one day's ``interests.yaml``; none when nothing was written for it."""

    date: str = ""
    path: str = ""
    topics: list[Topic] = Field(default_factory=list)


class ResourceCard(BaseModel):
    """What became of one resource.

    ``path`` is its card: ``None`` when the model found nothing to keep (``declined``).
    ``inbound`` lists links to a card that was ``removed``; ``previous`` is where a resource stood
    that was ``moved``.
    """

    resource: str
    path: str | None = None
    action: Literal["created", "updated", "moved", "removed", "declined"]
    tags: list[str] = Field(default_factory=list)
    inbound: list[FileLink] = Field(default_factory=list)
    previous: str = ""


class AutoResourceResult(Result):
    """What became of resources; each one is in one of the lists, or ``unchanged``.

    A long one that could not be read to its end yet is in ``cards`` and in ``pending``.
    ``failed`` are tried again by the next call; ``skipped`` are files nobody can make a card of.
    """

    cards: list[ResourceCard] = Field(default_factory=list)
    unchanged: int = 0
    pending: list[str] = Field(default_factory=list)
    failed: list[Failure] = Field(default_factory=list)
    skipped: list[Failure] = Field(default_factory=list)
    model_calls: int = 0


class ReadResult(Result):
    """Lines of a file; ``answer`` holds the text, capped, and how to read on."""

    path: str
    content: str = ""
    start_line: int = 0
    end_line: int = 0
    total_lines: int = 0
    truncated: bool = False
    content_hash: str = ""
    outlinks: list[FileLink] = Field(default_factory=list)
    inlinks: list[FileLink] = Field(default_factory=list)


class ImageResult(Result):
    """An image file: its bytes as Base64 and its media type, for an image block."""

    path: str
    media_type: str = ""
    data: str = ""


class ChangeResult(Result):
    """A change that was made: write, edit, delete, move, undo, front matter.

    ``indexed`` is false when the file is safe but search does not show it: it stands where search
    does not look, or the index could not follow yet; ``answer`` says which.
    ``inbound`` lists the files that link to what was deleted or moved.
    """

    path: str
    change_id: str = ""
    content_hash: str | None = None
    created: bool = False
    replaced: int = 0
    inbound: list[FileLink] = Field(default_factory=list)
    touched: list[str] = Field(default_factory=list)
    indexed: bool = True


class RememberResult(ChangeResult):
    """Where something is remembered.

    Attributes:
        statement: as it stands there now.
        corroborated: a node said so already; it got a date, and sources, instead of a repetition.
        redacted: the kinds of secrets that were taken out.
    """

    statement: str = ""
    corroborated: bool = False
    redacted: list[str] = Field(default_factory=list)


class FrontMatterResult(ChangeResult):
    """A file's front matter, after the change if there was one."""

    frontmatter: dict[str, Any] = Field(default_factory=dict)


class FileEntry(BaseModel):
    """One line of a listing."""

    path: str
    kind: Literal["file", "folder"] = "file"
    size: int = 0
    modified: str = ""
    name: str = ""
    description: str = ""


class ListResult(Result):
    """Files under a folder, sorted by path."""

    entries: list[FileEntry] = Field(default_factory=list)
    truncated: bool = False


class StatResult(Result):
    """What is known about one path."""

    path: str
    exists: bool = False
    kind: Literal["file", "folder", "missing"] = "missing"
    size: int = 0
    modified: str = ""
    media_type: str = ""
    content_hash: str = ""
    indexed: bool = False
    frontmatter: dict[str, Any] = Field(default_factory=dict)
    frontmatter_error: str | None = None


class TagsResult(Result):
    """Tags and how many files carry each."""

    tags: dict[str, int] = Field(default_factory=dict)


class GraphNode(BaseModel):
    """A file in a piece of the link graph; ``depth`` counts from the seed."""

    path: str
    name: str = ""
    description: str = ""
    depth: int = 0
    indexed: bool = True


class GraphResult(Result):
    """A piece of the link graph."""

    nodes: list[GraphNode] = Field(default_factory=list)
    edges: list[FileLink] = Field(default_factory=list)


class ChangeRecord(BaseModel):
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
    """A unified diff of one change; ``answer`` is the diff itself."""

    change_id: str


class ForgottenPart(BaseModel):
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


class IndexResult(Result):
    """What an index operation did."""

    files: int = 0
    chunks: int = 0
    removed: int = 0
    failed: list[Failure] = Field(default_factory=list)


class ExchangeResult(Result):
    """What an export or import of typed memories did.

    ``created``, ``updated`` and ``removed`` name files after an export, memories after an import.
    ``failed`` are files that were left alone, and why: edited ones, copies, unreadable ones.
    """

    created: list[str] = Field(default_factory=list)
    updated: list[str] = Field(default_factory=list)
    removed: list[str] = Field(default_factory=list)
    unchanged: int = 0
    failed: list[Failure] = Field(default_factory=list)


class StatusResult(Result):
    """Counts, queues and failures of one workspace."""

    root: str = ""
    files: int = 0
    chunks: int = 0
    pending_sessions: list[str] = Field(default_factory=list)
    queued_jobs: int = 0
    vectors_pending: int = 0
    dirty: list[str] = Field(default_factory=list)
    failures: dict[str, int] = Field(default_factory=dict)
    last_failures: dict[str, str] = Field(default_factory=dict)
    notices: list[str] = Field(default_factory=list)
    details: dict[str, Any] = Field(default_factory=dict)


class DoctorResult(Result):
    """Differences between the disk and the index, and files that could not be read."""

    differences: list[Failure] = Field(default_factory=list)
    repaired: int = 0
