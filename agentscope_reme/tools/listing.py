"""What stands in a folder, and what is known about one path."""

from __future__ import annotations

import mimetypes
from pathlib import PurePosixPath
from typing import Final

from agentscope_reme.errors import BadInput, NotFound, StorageFailed
from agentscope_reme.files.documents import MarkdownDocument
from agentscope_reme.files.looking import is_folder
from agentscope_reme.results import FileEntry, ListResult, StatResult
from agentscope_reme.schema import content_hash
from agentscope_reme.tools.access import UNREADABLE, Access
from agentscope_reme.tools.answer_limit import capped, capped_lines, counted, one_line
from agentscope_reme.tools.front_matter_tools import as_yaml
from agentscope_reme.tools.plain_arguments import plain_text, whole_number
from agentscope_reme.workspace import MARKDOWN_SUFFIXES, is_markdown

_MEDIA_TYPES: Final = {
    **dict.fromkeys(MARKDOWN_SUFFIXES, "text/markdown"),
    ".jsonl": "application/jsonl",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
}
_LARGEST_PARSED: Final = 1024 * 1024


def list_files(access: Access, path: str, recursive: bool, limit: int) -> ListResult:
    """See `FileOperations.list`."""
    if whole_number(limit, "limit") < 1:
        raise BadInput(limit, "`limit` must be at least 1", "Leave it out for 100.")
    folder = (
        "" if plain_text(path, "path").strip().strip("/") in ("", ".") else access.readable(path)
    )
    found = _below(access, folder, recursive)
    entries = [entry for name in found[:limit] if (entry := describe_entry(access, name))]
    lines = [_entry_line(entry) for entry in entries]
    advice = "Name a folder inside, or raise `limit`."
    if len(found) > limit:
        lines.append(f"[{len(found) - limit} of {len(found)} left out. {advice}]")
    answer, shown = capped_lines(lines, access.answer_bytes, advice)
    where = f"`{folder}/`" if folder else "the workspace"
    return ListResult(
        answer=answer or f"No files in {where}.",
        entries=entries,
        truncated=len(found) > limit or shown < len(lines),
    )


def stat(access: Access, path: str) -> StatResult:
    """See `FileOperations.stat`."""
    clean = access.readable(path)
    if not access.view.exists(clean):
        return _stat_folder(access, clean)
    data = access.read(clean)
    document = MarkdownDocument.parse(data) if is_markdown(clean) else None
    front = document.front_matter if document else {}
    error = document.front_matter_error if document else None
    result = StatResult(
        path=clean,
        exists=True,
        kind="file",
        size=len(data),
        modified=_modified(access, clean),
        media_type=media_type(clean),
        content_hash=content_hash(data),
        indexed=access.store.node(clean) is not None,
        frontmatter=front,
        frontmatter_error=error,
    )
    result.answer = capped(_stat_text(result), access.answer_bytes, "Use `frontmatter_read`.")
    return result


def _stat_folder(access: Access, path: str) -> StatResult:
    inside = access.view.paths(path)
    if not inside and not is_folder(access.workspace.locate_normalised(path)):
        return StatResult(path=path, answer=f"{path} does not exist.")
    answer = f"{path}/ is a folder with {counted(len(inside), 'file')}; `list` shows them."
    return StatResult(path=path, exists=True, kind="folder", answer=answer)


def _stat_text(result: StatResult) -> str:
    lines = [
        f"{result.path}: {result.media_type}, {result.size} bytes, "
        f"modified {result.modified or 'just now'}",
        f"sha256: {result.content_hash}",
        "indexed: " + ("yes" if result.indexed else "no"),
    ]
    if result.frontmatter_error:
        lines.append(f"front matter cannot be read: {result.frontmatter_error}")
    if result.frontmatter:
        lines.append(as_yaml(result.frontmatter))
    return "\n".join(lines)


def media_type(path: str) -> str:
    """The media type a file's name suggests."""
    suffix = PurePosixPath(path).suffix.lower()
    return _MEDIA_TYPES.get(suffix) or mimetypes.guess_type(path)[0] or "application/octet-stream"


def _below(access: Access, folder: str, recursive: bool) -> list[str]:
    """Paths in a folder; folders end with a slash and stand among the files."""
    files = access.view.paths(folder)
    if folder and not files:
        if access.view.exists(folder):
            return [folder]
        if not is_folder(access.workspace.locate_normalised(folder)):
            raise NotFound(folder, "no such folder", "Use `list` without a path to see them all.")
    if recursive:
        return files
    start = len(folder) + 1 if folder else 0
    direct = {_first_part(path, start) for path in files}
    return sorted(direct)


def _first_part(path: str, start: int) -> str:
    slash = path.find("/", start)
    return path if slash < 0 else path[: slash + 1]


def describe_entry(access: Access, path: str) -> FileEntry | None:
    """One line of a listing; ``None`` when the file has just gone."""
    if path.endswith("/"):
        return FileEntry(path=path.rstrip("/"), kind="folder")
    try:
        size = access.workspace.locate_normalised(path).stat().st_size
    except OSError:
        size = 0
    name = description = ""
    try:
        if size == 0 or (is_markdown(path) and size <= _LARGEST_PARSED):
            data = access.view.read(path)
            size = len(data)
            if is_markdown(path):
                front = MarkdownDocument.parse(data).front_matter
                name, description = (_word(front, key) for key in ("name", "description"))
    except NotFound:
        return None
    except StorageFailed:
        description = UNREADABLE
    return FileEntry(
        path=path,
        size=size,
        modified=_modified(access, path),
        name=name,
        description=description,
    )


def _word(front: dict[str, object], key: str) -> str:
    value = front.get(key)
    return "" if value is None else str(value)


def _modified(access: Access, path: str) -> str:
    try:
        return access.stamp(access.workspace.locate_normalised(path).stat().st_mtime)
    except OSError:
        return ""  # staged, not written yet


def _entry_line(entry: FileEntry) -> str:
    if entry.kind == "folder":
        return f"{entry.path}/"
    words = " — ".join(one_line(part, 200) for part in (entry.name, entry.description) if part)
    return f"{entry.path}  {entry.size} bytes  {entry.modified}  {words}".rstrip()
