"""A helper process that reads, cuts and counts files: what a first index spends its time on.

Started by `bulk_reader` with a pipe to each side. It is asked for a few files at a time and answers
in the same order; it ends when nobody asks any more. What it cannot answer, for whatever reason, is
left to whoever asked. Frames are a length and a `marshal` of plain values, which runs no code when
it is read.
"""

from __future__ import annotations

import gc
import marshal
import os
import struct
import sys
from collections.abc import Callable
from typing import Any, BinaryIO, Final

LENGTH: Final = struct.Struct("<Q")
_NICENESS: Final = 10
"""Whoever asked goes on answering others, and goes first."""
_OBJECTS_BETWEEN_COLLECTIONS: Final = 20_000


def rules(fingerprint: str) -> str:
    """What both sides have to agree on: this code, how names of files are spelled, and the index.

    Args:
        fingerprint: how files are cut and counted.
    """
    return f"{__file__} {sys.getfilesystemencoding()} {fingerprint}"


def main() -> None:
    """Answer on standard output until standard input ends."""
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints must not get between the answers
    try:
        serve(sys.stdin.buffer, answers)
    except (BrokenPipeError, KeyboardInterrupt):
        os._exit(0)  # whoever asked is gone, and nobody is left to be told


def serve(questions: BinaryIO, answers: BinaryIO) -> None:
    """Say which rules are followed, then answer every question."""
    setting = receive(questions)
    if setting is None:
        return
    fingerprint, understood = _reader(*setting)
    gc.freeze()  # modules and dictionaries stay; what a file leaves behind is gone without help
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    send(answers, rules(fingerprint))
    while (asked := receive(questions)) is not None:
        send(answers, tuple(understood(*file) for file in asked))


def _reader(
    root: str, chunk_byte_size: int, max_indexed_file_bytes: int, dictionary: str | None
) -> tuple[str, Callable[[str, int], tuple[Any, ...] | None]]:
    from agentscope_reme.store.flat_file import flattened
    from agentscope_reme.store.indexed_text import IndexedText
    from agentscope_reme.store.indexer import FileIndexer, PlainRules, index_fingerprint
    from agentscope_reme.store.tokenizers import MemoryTokenizer
    from agentscope_reme.workspace import Workspace

    settings = PlainRules(chunk_byte_size, max_indexed_file_bytes)
    tokenizer = MemoryTokenizer(dictionary)
    indexer, text = FileIndexer(settings), IndexedText(tokenizer)
    workspace = Workspace(root)

    def understood(path: str, mtime_ns: int) -> tuple[Any, ...] | None:
        try:
            with open(f"{workspace.root}/{workspace.real(path)}", "rb", buffering=0) as opened:
                data = opened.read()
            if len(data) > max_indexed_file_bytes:
                return None
            file = indexer.index(path, data, mtime_ns=mtime_ns)
            words = text.words(file.node, file.chunks)
            return tuple(flattened(file.node, file.chunks, words).rows)
        except Exception:  # noqa: BLE001 - whoever asked meets it as well, and can tell somebody
            return None

    return f"{index_fingerprint(settings)} {tokenizer.fingerprint}", understood


def send(pipe: BinaryIO, value: Any) -> None:
    """Write one frame."""
    data = marshal.dumps(value)
    pipe.write(LENGTH.pack(len(data)) + data)
    pipe.flush()


def receive(pipe: BinaryIO) -> Any:
    """Read one frame; ``None`` when the other side is gone."""
    head = pipe.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    size = LENGTH.unpack(head)[0]
    data = pipe.read(size)
    return marshal.loads(data) if len(data) == size else None  # noqa: S302 - from our own process
