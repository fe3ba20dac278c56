"""Writing, editing, deleting and moving files; every answer says what happened to what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentscope_reme.errors import BadDocument, BadInput, BadPath
from agentscope_reme.files.changes import ANY, Expected
from agentscope_reme.files.documents import MarkdownDocument
from agentscope_reme.files.views import ViewChange
from agentscope_reme.results import ChangeResult
from agentscope_reme.schema import FileLink
from agentscope_reme.tools.access import CARD_KEYS, RESOURCE_KEYS, Access
from agentscope_reme.tools.answer_limit import bullets, capped, counted
from agentscope_reme.tools.change_results import change_result
from agentscope_reme.tools.front_matter_tools import set_keys
from agentscope_reme.tools.plain_arguments import mapping, optional_text, plain_text
from agentscope_reme.workspace import is_markdown

_ADVICE = "The change itself is complete; `history` shows it."


def write(
    access: Access,
    path: str,
    content: str,
    name: str | None,
    description: str | None,
    metadata: Mapping[str, Any] | None,
    expected_hash: str | None,
) -> ChangeResult:
    """See `FileOperations.write`."""
    clean = access.new_place(path)
    if access.view.paths(clean):
        raise BadPath(path, "this is a folder", "Name a file inside it.")
    fields = {**mapping(metadata, "metadata"), **_named(name, description)}
    if fields and not is_markdown(clean):
        raise BadInput(
            path, "only Markdown files have front matter", "Leave out name and metadata."
        )
    fields.update(_card_fields(access, clean))
    expected = _expected(expected_hash)
    data = compose(clean, content, fields)
    change = access.view.write(clean, data, expected=expected)
    return change_result(clean, change, _written(clean, change, len(data)))


def compose(path: str, content: str, fields: Mapping[str, Any]) -> bytes:
    """The bytes of a new file: front matter set into the content, a newline at the end.

    Raises:
        BadInput: the content is not text that UTF-8 can hold.
    """
    try:
        encoded = plain_text(content, "content").encode("utf-8")
    except UnicodeEncodeError as error:
        raise BadInput(
            content, "the content has half characters (lone surrogates)", "Pass valid Unicode."
        ) from error
    if not is_markdown(path):
        return encoded
    if encoded and not encoded.endswith(b"\n"):
        encoded += b"\n"
    document = MarkdownDocument.parse(encoded)
    set_keys(document, {key: value for key, value in fields.items() if value is not None})
    return document.dump()


def edit(access: Access, path: str, old: str, new: str, replace_all: bool) -> ChangeResult:
    """See `FileOperations.edit`."""
    clean = access.writable(path)
    if not plain_text(old, "old"):
        raise BadInput(old, "`old` is empty", "Pass the exact text to replace.")
    if old == plain_text(new, "new"):
        raise BadInput(
            old, "`old` and `new` are the same", "Pass the text that should stand there."
        )
    count = 0

    def change(before: bytes) -> bytes:
        nonlocal count
        if not is_markdown(clean):
            count, after = replaced(clean, before, old, new, replace_all)
            return after
        document = MarkdownDocument.parse(before)
        count = document.edit(old, new, replace_all=replace_all)
        return document.dump()

    done = access.rewrite(clean, change)
    assert done is not None  # noqa: S101 - `change` always returns bytes
    places = counted(count, "place")
    return change_result(clean, done, f"Edited {clean} in {places}.", replaced=count)


def delete(access: Access, path: str) -> ChangeResult:
    """See `FileOperations.delete`."""
    clean = access.writable(path)
    is_file = access.view.exists(clean)
    files = [] if is_file else access.view.paths(clean)
    _refuse_card_folder(access, clean)
    if not (is_file or files or access.is_folder(clean)):
        raise access.missing(clean)
    change = access.view.delete(clean)
    what = clean if is_file else f"{clean}/ with {counted(len(files), 'file')}"
    said = f"Deleted {what}; it is in the trash{_undo(change)}."
    answer = capped(said + _still_linking(change.inbound), access.answer_bytes, _ADVICE)
    return change_result(clean, change, answer)


def move(access: Access, src: str, dst: str, overwrite: bool, retarget: bool) -> ChangeResult:
    """See `FileOperations.move`."""
    source = access.writable(src)
    if isinstance(dst, str) and dst.strip().endswith("/"):
        dst = dst.strip() + source.rsplit("/", 1)[-1]
    target = access.new_place(dst)
    if source == target or target.startswith(f"{source}/"):
        raise BadInput(dst, "the target is the source itself or inside it", "Choose another path.")
    _refuse_card_folder(access, source)
    if not (access.view.exists(source) or access.is_folder(source)):
        raise access.missing(source)
    change = access.view.move(source, target, overwrite=overwrite, retarget=retarget)
    said = f"Moved {source} to {target}{_undo(change)}."
    if change.touched:
        where = counted(len(change.touched), "file")
        said += f" Rewrote its links in {where}:\n{bullets(change.touched)}"
    elif change.inbound:
        said += _still_linking(change.inbound)
    answer = capped(said, access.answer_bytes, _ADVICE)
    standing = [target] if access.view.exists(target) else access.view.paths(target)
    return change_result(target, change, answer, standing=standing)


def _named(name: str | None, description: str | None) -> dict[str, str]:
    given = {"name": name, "description": description}
    texts = {key: optional_text(value, key) for key, value in given.items()}
    return {key: text for key, text in texts.items() if text}


def _expected(expected_hash: str | None) -> Expected:
    """``None``: anything may stand there; empty: nothing may; else: exactly that content."""
    if expected_hash is None:
        return ANY
    return optional_text(expected_hash, "expected_hash").lower() or None


def _card_fields(access: Access, path: str) -> dict[str, Any]:
    """In a run tied to one session: what must survive when its card is replaced."""
    if not access.scope.is_card:
        return {}
    if not access.view.exists(path):
        raise BadPath(path, "a new card is made by `daily_write`", "Use `daily_write`.")
    front = MarkdownDocument.parse(access.view.read(path)).front_matter
    return {key: front[key] for key in (*CARD_KEYS, *RESOURCE_KEYS) if key in front}


def _refuse_card_folder(access: Access, path: str) -> None:
    if access.scope.is_card and not access.view.exists(path) and access.view.paths(path):
        raise BadPath(path, "a folder is not this session's card", "Name the card itself.")


def replaced(path: str, before: bytes, old: str, new: str, replace_all: bool) -> tuple[int, bytes]:
    """Replace an exact text, and tell how often.

    In bytes: UTF-8 cannot match inside a character, and other bytes stay untouched.

    Raises:
        BadDocument: `old` is missing, or ambiguous without `replace_all`.
        BadInput: a text has half characters.
    """
    needle, wanted = _encoded(old), _encoded(new)
    count = before.count(needle)
    if count == 0 and b"\r\n" in before:
        needle, wanted = (part.replace(b"\n", b"\r\n") for part in (needle, wanted))
        count = before.count(needle)
    if count == 0:
        raise BadDocument(
            old, f"this text does not stand in {path}", "Copy it exactly from `read`."
        )
    if count > 1 and not replace_all:
        raise BadDocument(
            old,
            f"this text stands {count} times in {path}",
            "Pass more of the text around it, or replace_all=true.",
        )
    return count, before.replace(needle, wanted)


def _encoded(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise BadInput(text, "half characters (lone surrogates)", "Pass valid Unicode.") from error


def _written(path: str, change: ViewChange, size: int) -> str:
    if change.created:
        return f"Created {path} ({size} bytes)."
    return f"Replaced the earlier content of {path} ({size} bytes){_undo(change)}."


def _undo(change: ViewChange) -> str:
    return f" (undo: {change.change_id})" if change.change_id else ""


def _still_linking(inbound: tuple[FileLink, ...]) -> str:
    sources: dict[str, int] = {}
    for link in inbound:
        sources[link.source_path] = sources.get(link.source_path, 0) + 1
    if not sources:
        return " Nothing linked to it."
    lines = (f"{path} ({counted(count, 'link')})" for path, count in sources.items())
    verb = "file still links" if len(sources) == 1 else "files still link"
    return f" {len(sources)} {verb} to it:\n{bullets(lines)}"
