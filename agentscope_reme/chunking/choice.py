"""Which chunker a file gets."""

from __future__ import annotations

from pathlib import PurePosixPath

from agentscope_reme.chunking.archived_words import ARCHIVE_FOLDER
from agentscope_reme.chunking.chunker import Chunker
from agentscope_reme.chunking.json_file import JsonFileChunker
from agentscope_reme.chunking.jsonl_file import JsonlFileChunker
from agentscope_reme.chunking.markdown import MarkdownFileChunker
from agentscope_reme.chunking.plain import DEFAULT_OVERLAP_BYTES, DefaultFileChunker
from agentscope_reme.chunking.session_log import SessionLogChunker
from agentscope_reme.workspace import MARKDOWN_SUFFIXES

_LOGS = ("session/dialog/", ARCHIVE_FOLDER)


def chunker_for(path: str, chunk_byte_size: int) -> Chunker:
    """The chunker for a workspace path: by folder for session logs, else by suffix.

    Args:
        path: the normalised workspace path.
        chunk_byte_size: the largest chunk, in UTF-8 bytes.

    Raises:
        BadInput: the size is too small.
    """
    match PurePosixPath(path).suffix.casefold():
        case suffix if suffix in MARKDOWN_SUFFIXES:
            return MarkdownFileChunker(chunk_byte_size)
        case ".jsonl" if path.startswith(_LOGS):
            return SessionLogChunker(chunk_byte_size)
        case ".jsonl" | ".ndjson":
            return JsonlFileChunker(chunk_byte_size)
        case ".json":
            return JsonFileChunker(chunk_byte_size)
        case _:
            overlap = min(DEFAULT_OVERLAP_BYTES, chunk_byte_size // 8)
            return DefaultFileChunker(chunk_byte_size, overlap)
