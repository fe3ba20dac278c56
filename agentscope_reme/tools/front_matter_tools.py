"""Front matter as data: shown, merged and removed key by key; everything else stays as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentscope_reme.errors import BadDocument, BadInput
from agentscope_reme.files.documents import MarkdownDocument
from agentscope_reme.files.views import ViewChange
from agentscope_reme.results import FrontMatterResult
from agentscope_reme.schema import content_hash
from agentscope_reme.tools.access import CARD_KEYS, RESOURCE_KEYS, Access
from agentscope_reme.tools.answer_limit import capped
from agentscope_reme.tools.change_results import change_result
from agentscope_reme.tools.plain_arguments import mapping, text_list
from agentscope_reme.workspace import is_markdown

_ADVICE = "`read` shows the whole file."


def frontmatter_read(access: Access, path: str) -> FrontMatterResult:
    """See `FileOperations.frontmatter_read`."""
    clean = _markdown(path, access.readable(path))
    data = access.read(clean)
    document = MarkdownDocument.parse(data)
    if document.front_matter_error:
        raise BadDocument(
            clean,
            f"its front matter cannot be read: {document.front_matter_error}",
            "Use `read` to see it and `write` to replace the file.",
        )
    return FrontMatterResult(
        answer=capped(_shown(document), access.answer_bytes, _ADVICE),
        path=clean,
        content_hash=content_hash(data),
        frontmatter=document.front_matter,
    )


def frontmatter_update(access: Access, path: str, metadata: Mapping[str, Any]) -> FrontMatterResult:
    """See `FileOperations.frontmatter_update`."""
    clean = _markdown(path, access.writable(path))
    metadata = mapping(metadata, "metadata")
    if not metadata:
        raise BadInput(metadata, "no keys to set", "Pass at least one key and its value.")
    _refuse_card_keys(access, metadata)
    after: dict[str, Any] = {}

    def change(before: bytes) -> bytes | None:
        document = MarkdownDocument.parse(before)
        set_keys(document, metadata)
        after["document"] = document
        wanted = document.dump()
        return None if wanted == before else wanted

    done = access.rewrite(clean, change)
    said = f"Set {', '.join(map(str, metadata))} in {clean}."
    if done is None:
        said = f"{clean} already says so; nothing was changed."
    return _result(access, clean, done, said, after["document"])


def frontmatter_delete(access: Access, path: str, keys: Sequence[str]) -> FrontMatterResult:
    """See `FileOperations.frontmatter_delete`."""
    clean = _markdown(path, access.writable(path))
    keys = text_list(keys, "keys")
    if not keys:
        raise BadInput(keys, "no keys to remove", "Pass a list with at least one key.")
    _refuse_card_keys(access, dict.fromkeys(keys))
    after: dict[str, Any] = {}

    def change(before: bytes) -> bytes | None:
        document = MarkdownDocument.parse(before)
        after["removed"] = [key for key in keys if document.remove(key)]
        after["document"] = document
        return document.dump() if after["removed"] else None

    done = access.rewrite(clean, change)
    removed = after["removed"]
    missing = [key for key in keys if key not in removed]
    parts = [f"Removed {', '.join(removed)} from {clean}." if removed else "Nothing was changed."]
    if missing:
        parts.append(f"Not there: {', '.join(missing)}.")
    return _result(access, clean, done, " ".join(parts), after["document"])


def set_keys(document: MarkdownDocument, metadata: Mapping[str, Any]) -> None:
    """Set every key of a mapping in a document.

    Raises:
        BadInput: a key is not text.
        BadDocument: the document's front matter cannot be edited safely.
    """
    for key, value in metadata.items():
        if not isinstance(key, str) or not key.strip():
            raise BadInput(key, "a front matter key must be text", "Use a plain word as the key.")
        document.set(key, value)


def as_yaml(front_matter: Mapping[str, Any]) -> str:
    """Front matter as the YAML a person would write, in its own order."""
    if not front_matter:
        return "(no front matter)"
    import yaml  # most jobs read none

    text: str = yaml.safe_dump(
        dict(front_matter), sort_keys=False, allow_unicode=True, width=10_000
    )
    return text.rstrip("\n")


def _shown(document: MarkdownDocument) -> str:
    return as_yaml(document.front_matter)


def _result(
    access: Access, path: str, change: ViewChange | None, said: str, document: MarkdownDocument
) -> FrontMatterResult:
    if change is None:
        change = ViewChange("", content_hash(document.dump()))
    answer = capped(f"{said}\n{_shown(document)}", access.answer_bytes, _ADVICE)
    common = change_result(path, change, answer).model_dump()
    return FrontMatterResult(**common, frontmatter=document.front_matter)


def _markdown(given: str, path: str) -> str:
    if not is_markdown(path):
        raise BadInput(given, "only Markdown files have front matter", "Name a file ending in .md.")
    return path


def _refuse_card_keys(access: Access, keys: Mapping[str, Any]) -> None:
    tied = [key for key in (*CARD_KEYS, *RESOURCE_KEYS) if key in keys]
    if access.scope.is_card and tied:
        raise BadInput(
            tied, "these keys tie the card to its conversation", "Leave them as they are."
        )
