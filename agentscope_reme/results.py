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

    model_config = ConfigDict(extra="forbid")

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
    """Hits, best first."""

    hits: list[SearchHit] = Field(default_factory=list)
    counts: BranchCounts = BranchCounts()
    truncated: bool = False


class RecallResult(Result):
    """A pack for a prompt: ``answer`` is the wrapped text, empty without evidence.

    ``media`` holds images to show beside the text, when they were asked for.
    """

    hits: list[SearchHit] = Field(default_factory=list)
    media: list[DataBlock] = Field(default_factory=list)
    evidence: bool = False
    tokens: int = 0


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
    work is still ``pending`` because no model was there or it failed.
    """

    path: str | None = None
    created: bool = False
    modified: bool = False
    session_path: str = ""
    date: str = ""
    images: list[str] = Field(default_factory=list)
    tags: list[str] = Field(default_factory=list)
    pending: bool = False
    failed: list[Failure] = Field(default_factory=list)
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

    ``indexed`` is false when the file is safe but the index could not follow yet.
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


class IndexResult(Result):
    """What an index operation did."""

    files: int = 0
    chunks: int = 0
    removed: int = 0
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
