"""Many new files are read by helper processes, and nobody can tell from the index."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from agentscope_reme import ReMe, Settings
from agentscope_reme.files.disk import Disk
from agentscope_reme.schema import FileChunk, FileNode
from agentscope_reme.store import bulk_reader
from agentscope_reme.store.bulk_reader import BulkReader, HelperFailed
from agentscope_reme.store.flat_file import FlatFile, flattened
from agentscope_reme.store.indexed_text import IndexedText
from agentscope_reme.store.indexer import FileIndexer
from agentscope_reme.store.local_store import LocalFileStore
from agentscope_reme.store.records import FileStamps
from agentscope_reme.store.tokenizers import MemoryTokenizer
from agentscope_reme.vault import scanning
from agentscope_reme.vault.tree import Tree
from agentscope_reme.workspace import Workspace

QUIET = Settings(watch=False, fsync=False)
ODD = {
    "daily/2026-11-28/plain.md": b"# Harbour\n\nThe ferry leaves at nine.\n",
    "digest/wiki/tags.md": (
        "---\nname: 港口\ntags: [sea, 船]\nsize: 3\n---\n渡轮九点出发。[[a.md#Top]]\n"
    ).encode(),
    "digest/wiki/broken.md": b"---\nname: [\n---\nStill words.\n",
    "digest/wiki/empty.md": b"",
    "digest/wiki/name-only.md": b"---\nname: lighthouse\n---\n",
    "digest/wiki/lines.md": b"\xef\xbb\xbf---\r\npinned: true\r\n---\r\n# Quay\r\na\rb\r\n",
    "digest/wiki/chinese.md": "港口的渡轮九点出发".encode("gb18030"),
    "digest/wiki/utf-16.txt": "a pier in the sea".encode("utf-16"),
    "digest/wiki/bytes.md": b"Caf\xe9 \xff and more\n",
    "digest/wiki/long.md": b"# A\n\n" + b"one two three four getUserName x86_64 " * 400,
    "resource/2026-11-28/binary.txt": b"\0\1\2",
    "resource/2026-11-28/data.json": b'{"colour": "turquoise"}',
    "session/dialog/s.jsonl": b'{"type": "session", "session_id": "s"}\n'
    b'{"id": "1", "role": "user", "blocks": [{"type": "text", "text": "marmot"}]}\n',
}
QUERIES = ("ferry harbour", "渡轮", "lighthouse", "getUserName", "marmot", "turquoise", "words")


def put_files(folder: Path) -> None:
    for path, data in ODD.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
        os.utime(place, ns=(1, 1))


class Started(subprocess.Popen[bytes]):
    """Remembers every process that was started."""

    ever: ClassVar[list[Started]] = []

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.ever.append(self)


Said = tuple[list[FileNode], list[list[FileChunk]], list[list[tuple[str, float]]], dict[str, int]]


async def what_the_index_says(folder: Path) -> Said:
    """Everything an index holds of the files, made anew."""
    put_files(folder)
    async with ReMe(folder, settings=QUIET) as reme:
        store = reme.application.components.store
        nodes = store.nodes()
        found = [store.keyword_search(query, limit=10) for query in QUERIES]
        return (
            nodes,
            [store.chunks(node.path) for node in nodes],
            [[(hit.chunk_id, hit.score) for hit in hits] for hits in found],
            store.tags(),
        )


@pytest.fixture
def helped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two files are many."""
    monkeypatch.setattr(scanning, "FEWEST_FILES", 2)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths that the indexer of this process is given."""
    read: list[str] = []
    index = FileIndexer.index

    def count(self: FileIndexer, path: str, data: bytes, *, mtime_ns: int) -> object:
        read.append(path)
        return index(self, path, data, mtime_ns=mtime_ns)

    monkeypatch.setattr(FileIndexer, "index", count)
    return read


def read_with_helpers(folder: Path) -> None:
    """Have every file understood by helpers."""
    put_files(folder)
    reader = LocalFileStore(Workspace(folder), settings=QUIET).bulk_reader()
    assert reader is not None
    with reader:
        assert all(reader.read((path, 1, len(data)) for path, data in ODD.items()))


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[BulkReader]:
    put_files(tmp_path)
    store = LocalFileStore(Workspace(tmp_path), settings=QUIET)
    reader = store.bulk_reader()
    assert reader is not None
    with reader:
        yield reader


async def test_the_index_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, counted: list[str]
) -> None:
    alone = await what_the_index_says(tmp_path / "alone")
    assert len(counted) == len(ODD)
    monkeypatch.setattr(scanning, "FEWEST_FILES", 2)
    helped = await what_the_index_says(tmp_path / "helped")
    assert len(counted) == len(ODD)  # this process understood no file itself
    assert helped == alone
    assert all(alone[2])


@pytest.mark.usefixtures("helped")
async def test_nothing_stays_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "Popen", Started)
    before = set(threading.enumerate())
    await what_the_index_says(tmp_path)
    left = set(threading.enumerate()) - before
    assert not [thread for thread in left if thread.name == "bulk reader"]
    assert Started.ever
    assert all(process.returncode is not None for process in Started.ever)


@pytest.mark.usefixtures("helped")
@pytest.mark.parametrize("program", ["/nowhere/python3", "/usr/bin/some-server", ""])
async def test_without_an_interpreter_the_files_are_read_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, counted: list[str], program: str
) -> None:
    monkeypatch.setattr(sys, "executable", program)
    nodes, *_ = await what_the_index_says(tmp_path)
    assert len(nodes) == len(counted) == len(ODD)


@pytest.mark.usefixtures("helped")
async def test_helpers_can_be_refused(tmp_path: Path, counted: list[str]) -> None:
    put_files(tmp_path)
    async with ReMe(tmp_path, settings=QUIET.model_copy(update={"index_helpers": 0})):
        assert len(counted) == len(ODD)


def test_there_is_no_helper_for_a_processor_we_may_not_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _process: {5}, raising=False)
    reader = LocalFileStore(Workspace(tmp_path), settings=QUIET).bulk_reader()
    assert reader is not None
    assert reader._count == 1
    monkeypatch.delattr(os, "sched_getaffinity")  # as on macOS and Windows
    reader = LocalFileStore(Workspace(tmp_path), settings=QUIET).bulk_reader()
    assert reader is not None
    assert reader._count == QUIET.index_helpers


@pytest.mark.usefixtures("helped")
async def test_what_a_dead_helper_left_is_read_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, counted: list[str]
) -> None:
    read = BulkReader.read

    def dying(self: BulkReader, files: object) -> Iterator[object]:
        for number, file in enumerate(read(self, files)):  # type: ignore[arg-type]
            yield file
            if number == 1:
                for helper in self._helpers:
                    helper.end()
                raise HelperFailed("killed")

    monkeypatch.setattr(BulkReader, "read", dying)
    nodes, *_ = await what_the_index_says(tmp_path)
    assert len(nodes) == len(ODD)
    assert len(counted) == len(ODD) - 2


def test_a_killed_helper_is_noticed(reader: BulkReader) -> None:
    answers = reader.read((path, 1, 1) for path in ODD)
    assert isinstance(next(answers), FlatFile)
    for helper in reader._helpers:
        helper._process.kill()
        helper._process.wait()
    with pytest.raises(HelperFailed):
        list(answers) and list(reader.read([("daily/2026-11-28/plain.md", 1, 1)] * 3))


def test_answers_come_in_order_and_gone_files_are_passed_over(reader: BulkReader) -> None:
    asked = [("nowhere.md", 1, 1), *((path, 7, len(data)) for path, data in ODD.items())] * 30
    answers = list(reader.read(asked))
    assert [a.path if isinstance(a, FlatFile) else None for a in answers] == [
        None if path == "nowhere.md" else path for path, *_ in asked
    ]


def test_large_files_are_asked_about_one_by_one(
    reader: BulkReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    ask = bulk_reader._Helper.ask

    def count(self: Any, question: tuple[object, ...]) -> None:
        asked.append(len(question))
        ask(self, question)

    monkeypatch.setattr(bulk_reader._Helper, "ask", count)
    answers = reader.read((path, 1, 20_000_000) for path in [*ODD] * 30)
    assert isinstance(next(answers), FlatFile)
    assert asked == [1]  # the answers to more of them would wait in memory
    assert sum(answer is not None for answer in answers) == 30 * len(ODD) - 1
    assert set(asked) == {1}


def test_what_a_program_does_at_its_start_is_not_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('good morning, and many happy returns')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path))
    read_with_helpers(tmp_path / "memory")


def test_odd_places_for_modules_do_no_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd: list[Any] = ["", "gone", str(tmp_path / "gone.zip"), None, *sys.path]
    monkeypatch.setattr(sys, "path", odd)
    read_with_helpers(tmp_path / "memory")


def test_names_are_spelled_in_one_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "getfilesystemencoding", lambda: "iso8859-15")
    with pytest.raises(HelperFailed, match="other rules"):
        read_with_helpers(tmp_path)


def test_without_room_for_a_thread_no_process_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(subprocess, "Popen", Started)
    monkeypatch.setattr(threading.Thread, "start", refused)
    count = len(Started.ever)
    with pytest.raises(HelperFailed, match="new thread"):
        read_with_helpers(tmp_path)
    assert [process.returncode is not None for process in Started.ever[count:]] == [True]


@pytest.mark.usefixtures("helped")
async def test_what_a_helper_cannot_answer_is_looked_at_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, counted: list[str]
) -> None:
    monkeypatch.setattr(BulkReader, "read", lambda _, files: iter([None] * len(list(files))))
    nodes, *_ = await what_the_index_says(tmp_path)
    assert len(nodes) == len(counted) == len(ODD)


@pytest.mark.skipif(not hasattr(os, "getpriority"), reason="priorities have other names here")
def test_helpers_let_whoever_asked_go_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subprocess, "Popen", Started)
    store = LocalFileStore(Workspace(tmp_path), settings=QUIET)
    reader = store.bulk_reader()
    assert reader is not None
    count, own = len(Started.ever), os.getpriority(os.PRIO_PROCESS, 0)
    with reader:
        helpers = [os.getpriority(os.PRIO_PROCESS, one.pid) for one in Started.ever[count:]]
    assert helpers
    assert all(niceness == min(own + 10, 19) for niceness in helpers)


def test_other_rules_are_refused(tmp_path: Path) -> None:
    reader = BulkReader((str(tmp_path), 600, 10**6, None), "other rules", helpers=1)
    with pytest.raises(HelperFailed, match="other rules"):
        reader.__enter__()


def test_a_flat_file_is_the_file_it_was_made_of() -> None:
    text = IndexedText(MemoryTokenizer())
    for path, data in ODD.items():
        file = FileIndexer(Settings()).index(path, data, mtime_ns=5)
        flat = flattened(file.node, file.chunks, text.words(file.node, file.chunks))
        assert (flat.node, flat.chunks) == (file.node, file.chunks)
        assert (flat.path, flat.size, flat.chunk_count) == (path, len(data), len(file.chunks))


def test_the_garbage_collector_passes_over_what_waits() -> None:
    file = FileIndexer(Settings()).index(
        "digest/wiki/long.md", ODD["digest/wiki/long.md"], mtime_ns=5
    )
    words = IndexedText(MemoryTokenizer()).words(file.node, file.chunks)
    rows = flattened(file.node, file.chunks, words).rows
    gc.collect()
    gc.collect()  # a tuple is passed over once everything in it is
    assert len(rows.chunks) > 10
    assert not [row for row in (*rows.chunks, *rows.words, rows.chunks) if gc.is_tracked(row)]


def test_it_passes_over_what_a_scan_compares(tmp_path: Path) -> None:
    put_files(tmp_path)
    seen, failed = Tree(Workspace(tmp_path), Disk()).walk()
    stamps = FileStamps((file.path, file.mtime_ns, file.size, "0" * 64) for file in seen)
    assert not failed
    assert [file.path for file in seen] == sorted(ODD)
    assert seen[0].mtime_ns == stamps[seen[0].path].mtime_ns == 1
    assert [file.path for file in seen[2:4]] == sorted(ODD)[2:4]
    gc.collect()
    held = [*seen._rows, *stamps._rows.values()]
    assert not [row for row in held if gc.is_tracked(row)]
