"""What is read, listed and changed."""

from typing import Any, Literal

from pydantic import Field

from agentscope_reme.results.base import Part, Result
from agentscope_reme.schema import FileLink


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


class FileEntry(Part):
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
