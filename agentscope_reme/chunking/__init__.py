"""Cutting files into retrieval units that know where they stand."""

from __future__ import annotations

from agentscope_reme.chunking.choice import chunker_for
from agentscope_reme.chunking.chunker import Chunker
from agentscope_reme.chunking.json_file import JsonFileChunker
from agentscope_reme.chunking.jsonl_file import JsonlFileChunker
from agentscope_reme.chunking.markdown import MarkdownFileChunker
from agentscope_reme.chunking.plain import DefaultFileChunker
from agentscope_reme.chunking.render import render
from agentscope_reme.chunking.session_log import SessionLogChunker

__all__ = [
    "Chunker",
    "DefaultFileChunker",
    "JsonFileChunker",
    "JsonlFileChunker",
    "MarkdownFileChunker",
    "SessionLogChunker",
    "chunker_for",
    "render",
]
