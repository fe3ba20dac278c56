"""From a file's bytes to what the store keeps of it."""

from __future__ import annotations

import mimetypes
from collections.abc import Mapping, Sequence
from posixpath import splitext
from typing import Any, Final, NamedTuple, Protocol

from agentscope_reme.chunking import MarkdownFileChunker, chunker_for
from agentscope_reme.files.documents import MarkdownDocument
from agentscope_reme.files.markdown_scan import scan_markdown
from agentscope_reme.files.text_encoding import indexable_text, is_binary, without_surrogates
from agentscope_reme.files.wikilinks import links_of
from agentscope_reme.schema import FileChunk, FileNode, FrontMatter, chunk_id, content_hash
from agentscope_reme.store.chunk_kinds import PICTURE
from agentscope_reme.store.filters import TAGS_PER_FILE, normalise_tags, plain_value
from agentscope_reme.store.records import IndexedFile
from agentscope_reme.workspace import (
    MARKDOWN_SUFFIXES,
    is_hidden,
    is_markdown,
    is_picture,
    layer_of,
)

TAG_KEYS: Final = ("memory_tags", "tags")
"""Front matter keys whose values are a file's tags; the first ones count first."""

_RULES: Final = "files-4"
"""Raised with every change of what a file's chunks, links or tags are."""
SEARCHED_PLACES: Final = (
    "text files below daily/, digest/, resource/ and memory/, session logs, and Markdown at the "
    "root of the workspace"
)
"""What `is_searched_place` says, for people."""
_TEXT: Final = MARKDOWN_SUFFIXES | {
    ".txt", ".log", ".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".yaml", ".yml",
}  # fmt: skip
_LAYERS: Final = frozenset({"daily", "digest", "resource", "memory"})
SAID_PICTURES: Final = "session/images/"
"""Where the pictures of conversations are kept."""
_LETTERS: Final = str.maketrans("0123456789abcdef", "abcdefghijklmnop")
_LOGS: Final = ("session/dialog/", "session/agentscope/")


class CuttingRules(Protocol):
    """What of `Settings` shapes chunks."""

    @property
    def chunk_byte_size(self) -> int:
        """The largest chunk, in UTF-8 bytes."""

    @property
    def max_indexed_file_bytes(self) -> int:
        """The largest file that is read."""


class PlainRules(NamedTuple):
    """`CuttingRules` for a helper process, which starts sooner without `Settings`."""

    chunk_byte_size: int
    max_indexed_file_bytes: int


class FileIndexer:
    """Cuts files into chunks and reads their front matter, tags and links. Thread-safe.

    Args:
        settings: chunk size, and the size above which files are not read.
        pictures: picture files are indexed, for a model that embeds them.
    """

    def __init__(self, settings: CuttingRules, *, pictures: bool = False) -> None:
        self._settings: Final = settings
        self._pictures: Final = pictures
        self._markdown_chunker: Final = MarkdownFileChunker(self._settings.chunk_byte_size)

    @property
    def fingerprint(self) -> str:
        """Changes whenever the same file would be cut differently."""
        return index_fingerprint(self._settings)

    def indexable(self, path: str) -> bool:
        """See `is_searched_place`, and `is_picture_place` where pictures are indexed."""
        return is_searched_place(path) or (self._pictures and is_picture_place(path))

    def index(self, path: str, data: bytes, *, mtime_ns: int) -> IndexedFile:
        """Everything the store keeps of a file.

        Files that are binary or too large get a node without chunks. Nothing in the bytes makes
        this fail: what cannot be decoded stands as U+FFFD, and broken front matter is searched as
        text, with `FileNode.front_matter_error` set.

        Args:
            path: the normalised workspace path.
            data: the whole file.
            mtime_ns: its modification time, in nanoseconds.
        """
        node = FileNode(
            path=path, st_mtime_ns=mtime_ns, size=len(data), content_hash=content_hash(data)
        )
        if is_picture_place(path):
            return _picture(node)
        if len(data) > self._settings.max_indexed_file_bytes or is_binary(data):
            return IndexedFile(node, ())
        text = indexable_text(data)
        if is_markdown(path):
            return self._markdown(node, text)
        chunks = tuple(chunker_for(path, self._settings.chunk_byte_size).chunk(path, text))
        return IndexedFile(node.model_copy(update={"chunk_ids": _ids(chunks)}), chunks)

    def _markdown(self, node: FileNode, text: str) -> IndexedFile:
        document = MarkdownDocument.parse(text)
        scan = scan_markdown(text, front_matter=document.block)
        values = document.front_matter
        front_matter = _front_matter(values)
        chunks = tuple(self._markdown_chunker.chunk_scan(node.path, scan))
        if not chunks:
            chunks = _stand_in(node.path, front_matter, document.body_start_line - 1)
        update = {
            "links": tuple(links_of(scan, node.path)) if "[[" in text else (),
            "chunk_ids": _ids(chunks),
            "front_matter": front_matter,
            "front_matter_error": document.front_matter_error,
            "tags": _tags(values),
        }
        return IndexedFile(node.model_copy(update=update), chunks)


def is_searched_place(path: str) -> bool:
    """Whether a normalised path belongs into the index.

    Text files below ``daily/ digest/ resource/ memory/``, logs below ``session/dialog/`` and
    archives below ``session/agentscope/``, and Markdown at the root do; hidden and internal files
    never.
    """
    if is_hidden(path):
        return False
    suffix = splitext(path)[1].casefold()
    if "/" not in path:
        return suffix in MARKDOWN_SUFFIXES
    if path.startswith(_LOGS):
        return suffix == ".jsonl"
    return layer_of(path) in _LAYERS and suffix in _TEXT


def is_picture_place(path: str) -> bool:
    """Whether a normalised path is that of a picture that can be found by what it shows.

    Pictures below ``session/images/`` and ``daily/ digest/ resource/ memory/`` are; hidden files
    never.
    """
    if not is_picture(path) or is_hidden(path):
        return False
    return path.startswith(SAID_PICTURES) or layer_of(path) in _LAYERS


def index_fingerprint(settings: CuttingRules) -> str:
    """Names the rules and settings that shape chunks."""
    return f"{_RULES} {settings.chunk_byte_size} {settings.max_indexed_file_bytes}"


def _picture(node: FileNode) -> IndexedFile:
    """The one chunk of a picture. Its text names the content, so equal pictures share a vector.

    Without digits it is one term no query has.
    """
    text = node.content_hash.translate(_LETTERS)
    chunk = FileChunk(
        id=chunk_id(node.path, (), text, 0),
        path=node.path,
        start_line=1,
        end_line=1,
        text=text,
        metadata={PICTURE: mimetypes.guess_type(node.path)[0] or "image/*"},
    )
    return IndexedFile(node.model_copy(update={"chunk_ids": (chunk.id,)}), (chunk,))


def _ids(chunks: tuple[FileChunk, ...]) -> tuple[str, ...]:
    return tuple(chunk.id for chunk in chunks)


def _front_matter(values: Mapping[str, Any]) -> FrontMatter:
    plain = {str(key): _storable(plain_value(value)) for key, value in values.items()}
    named = {key: _as_text(plain.pop(key, None)) for key in ("name", "description")}
    return FrontMatter(**{**plain, **named})


def _as_text(value: Any) -> str:
    return "" if value is None else without_surrogates(str(value)).strip()


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return without_surrogates(value)
    if isinstance(value, list):
        return [_storable(item) for item in value]
    if isinstance(value, dict):
        return {without_surrogates(key): _storable(item) for key, item in value.items()}
    return value


def _tags(values: Mapping[str, Any]) -> tuple[str, ...]:
    tags = [tag for key in TAG_KEYS for tag in _listed(values.get(key))]
    return tuple(without_surrogates(tag) for tag in normalise_tags(tags)[:TAGS_PER_FILE])


def _listed(tags: Any) -> Sequence[Any]:
    """A list of tags as it is; ``tags: a, b`` is one as well, and so is a single tag."""
    if isinstance(tags, str):
        return tags.split(",") if "[[" not in tags else []  # a link is no tag
    return tags if isinstance(tags, list) else [tags]


def _stand_in(path: str, front: FrontMatter, end_line: int) -> tuple[FileChunk, ...]:
    """The chunk by which a file without a body is found: its name and description."""
    text = "\n".join(part for part in (front.name, front.description) if part)
    if not text:
        return ()
    return (
        FileChunk(
            id=chunk_id(path, (), text, 0),
            path=path,
            start_line=1,
            end_line=max(end_line, 1),
            text=text,
            metadata={"rendered": True, "front_matter": True},
        ),
    )
