"""Brings the index in step with files that others changed: scans, and paths from the watcher."""

from __future__ import annotations

import logging
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Final, Protocol

from agentscope_reme.errors import BadPath, NotFound, StorageFailed
from agentscope_reme.progress import followed, report_progress
from agentscope_reme.results import Failure, IndexResult
from agentscope_reme.schema import content_hash
from agentscope_reme.store.base import BaseFileStore
from agentscope_reme.store.bulk_reader import FEWEST_FILES, HelperFailed
from agentscope_reme.store.flat_file import FlatFile
from agentscope_reme.store.indexer import is_picture_place
from agentscope_reme.store.records import FileStamp, IndexedFile
from agentscope_reme.vault.index_keeper import UNREADABLE, IndexKeeper
from agentscope_reme.vault.tree import SeenFile, Tree
from agentscope_reme.workspace import layer_of

_log: Final = logging.getLogger(__name__)
_BATCH_FILES: Final = 200
_BATCH_CHUNKS: Final = 200
"""Each is a dozen objects: with more of them waiting the garbage collector holds up the process
more often, and for longer."""
_BATCH_FLAT_CHUNKS: Final = 250
"""Of a `FlatFile`, which the garbage collector passes over. A thousand at once are no quicker and
hold the event loop up for 30 ms."""
_BATCH_BYTES: Final = 8 * 1024 * 1024
_ROUNDS: Final = 3  # how often a file that keeps changing under the scan is read anew
_GUARDED_FROM: Final = 5  # fewer missing files than this are taken at their word


class CommitLock(Protocol):
    """Keeps writers apart; `WorkspaceLocks` is one."""

    def commit(self) -> AbstractContextManager[None]:
        """Hold it."""


class NoLock:
    """For an index nobody else writes to: what changes meanwhile is brought in later."""

    def commit(self) -> AbstractContextManager[None]:
        """Hold nothing."""
        return nullcontext()


def _go_on() -> None:
    return


def _nothing(_: Sequence[str]) -> set[str]:
    return set()


class Scanner:
    """Compares disk and index.

    Files are read and understood without a lock; the commit lock is held for each transaction
    only, and a file that changed between the two is read again.

    Args:
        tree: the files.
        keeper: the index.
        locks: held for each transaction.
        check: called between files; ends the pass by raising.
        taken_away: tells which of the missing files we deleted or moved ourselves.

    Attributes:
        notices: layers whose files seem to have vanished with their drive, by layer.
    """

    def __init__(
        self,
        tree: Tree,
        keeper: IndexKeeper,
        locks: CommitLock,
        check: Callable[[], None] = _go_on,
        taken_away: Callable[[Sequence[str]], set[str]] = _nothing,
    ) -> None:
        self._tree = tree
        self._keeper = keeper
        self._locks = locks
        self._check = check
        self._taken_away = taken_away
        self.notices: dict[str, str] = {}

    # A process without a model for pictures leaves those in the index that another one put there.

    def scan(self, *, full: bool, prefix: str, trust_absence: bool = False) -> IndexResult:
        """Compare everything below a folder.

        Args:
            full: hash every file, also when time and size are as the index knows them.
            prefix: the folder, ``""`` for the whole workspace.
            trust_absence: missing files were deleted, however many they are.
        """
        store = self._keeper.store
        store.refresh()
        seen, failed = self._tree.walk(prefix)
        stamps: Mapping[str, FileStamp] = store.stamps()
        if prefix:
            stamps = {path: stamp for path, stamp in stamps.items() if _below(path, prefix)}
        changed = seen if full else seen.those(lambda f: _differs(f, stamps))
        suspects = changed.those(lambda f: self._keeper.indexable(f.path, f.size))
        unlisted = {failure.item for failure in failed if not self._tree.is_link(failure.item)}
        wanted = {f.path for f in suspects}
        unwanted = {f.path for f in changed if f.path not in wanted}
        unwanted -= {path for path in unwanted if path in stamps and is_picture_place(path)}
        kept = seen.paths - unwanted
        missing = [p for p in stamps if p not in kept and not _hit(p, unlisted)]
        if trust_absence:
            for layer in {layer_of(path) for path in missing}:
                self.notices.pop(layer, None)
            return self._bring_in(suspects, missing, stamps, failed)
        gone = self._believed(missing, stamps, present=unwanted)
        return self._bring_in(suspects, gone, stamps, failed)

    def absent_layers(self) -> list[str]:
        """Layers of which most indexed files are missing; `notices` says so."""
        stamps = self._keeper.store.stamps()
        missing = [path for path in stamps if self._tree.seen(path) is None]
        self._believed(missing, stamps, present=set())
        return sorted(self.notices)

    def apply(self, paths: Iterable[str], *, force: bool = False) -> IndexResult:
        """Look at the named paths; a folder stands for everything below it, gone or not.

        Args:
            force: index files again even when the index says they have not changed.
        """
        store = self._keeper.store
        store.refresh()
        stamps = store.stamps()
        ordered = sorted(stamps)
        suspects: dict[str, SeenFile] = {}
        missing: dict[str, None] = {}
        failed: list[Failure] = []
        for path in self._named(paths):
            try:
                folder = not self._tree.is_link(path) and self._tree.is_folder(path)
            except StorageFailed as error:  # what the index has of it stays
                failed.append(Failure(item=path, reason=str(error)))
                continue
            seen = self._tree.seen(path)
            below, trouble = self._tree.walk(path) if folder else ([], [])
            found = [*below, *([seen] if seen else [])]
            failed += trouble
            suspects |= {f.path: f for f in found if self._keeper.indexable(f.path, f.size)}
            known = [*([path] if path in stamps else []), *_all_below(ordered, path)]
            left = {f.path for f in found if is_picture_place(f.path)}
            missing |= dict.fromkeys(p for p in known if p not in suspects and p not in left)
        for path in stamps:  # a drive that comes back comes back file by file
            if layer_of(path) in self.notices and self._tree.seen(path) is None:
                missing[path] = None
        present = {path for path in missing if self._tree.seen(path) is not None}
        gone = self._believed(list(missing), stamps, present=present)
        known_stamps = {} if force else stamps
        return self._bring_in(list(suspects.values()), gone, known_stamps, failed, force=force)

    def _named(self, paths: Iterable[str]) -> Iterator[str]:
        for given in paths:
            with suppress(BadPath):  # hidden, internal or unsafe: not ours to index
                yield from self._tree.names(given)

    def _believed(
        self, missing: Sequence[str], stamps: Mapping[str, FileStamp], *, present: set[str]
    ) -> list[str]:
        """What may leave the index: not most of a layer at once, that is an unmounted drive."""
        believed: list[str] = []
        layers: dict[str, list[str]] = {}
        for path in missing:
            layers.setdefault(layer_of(path), []).append(path)
        for layer, total in Counter(map(layer_of, stamps)).items():
            absent = layers.get(layer, [])
            vanished = [path for path in absent if path not in present]
            ours: set[str] = set()
            if _is_suspicious(len(vanished), total):  # a crash may have hidden our own deletion
                ours = self._taken_away(vanished)
                vanished = [path for path in vanished if path not in ours]
                total -= len(ours)
            if _is_suspicious(len(vanished), total):
                believed += ours
                self.notices[layer] = (
                    f"{len(vanished)} of {total} files in `{layer}/` are missing; the index keeps "
                    "them in case a drive is not mounted. Reindex if they were deleted on purpose."
                )
                continue
            self.notices.pop(layer, None)
            believed += absent
        return believed

    def _bring_in(
        self,
        suspects: Sequence[SeenFile],
        gone: Sequence[str],
        stamps: Mapping[str, FileStamp],
        failed: list[Failure],
        *,
        force: bool = False,
    ) -> IndexResult:
        run = _Run(self._tree, self._keeper, self._locks, stamps, failed, self._check, force=force)
        run.take_out(gone)
        rest: Sequence[SeenFile] = suspects
        for _ in range(_ROUNDS):
            rest = run.bring_in(rest)
        if rest:
            with self._locks.commit():
                self._keeper.mark_dirty(file.path for file in rest)
        return run.result


class _Run:
    """One pass over files that may have changed."""

    def __init__(
        self,
        tree: Tree,
        keeper: IndexKeeper,
        locks: CommitLock,
        stamps: Mapping[str, FileStamp],
        failed: list[Failure],
        check: Callable[[], None],
        *,
        force: bool,
    ) -> None:
        self._tree = tree
        self._keeper = keeper
        self._locks = locks
        self._stamps = stamps
        self._check = check
        self._force = force
        self.result = IndexResult(failed=failed)
        self._batch: list[tuple[SeenFile, IndexedFile]] = []
        self._batch_bytes = 0
        self._batch_share = 0.0
        self._again: list[SeenFile] = []

    def take_out(self, gone: Sequence[str]) -> None:
        for start in range(0, len(gone), _BATCH_FILES):
            with self._locks.commit():
                part = gone[start : start + _BATCH_FILES]
                back = [path for path in part if self._wanted(path)]
                leaving = [path for path in part if path not in back]
                if self._keeper.apply([], leaving):
                    self.result.removed += len(leaving)
                else:
                    self._refused(leaving)

    def bring_in(self, files: Sequence[SeenFile]) -> list[SeenFile]:
        """Index these files; returns those that changed in the meantime, as they are now."""
        self._again = []
        read = self._bring_in_bulk(files)
        rest = [file for file in files if file.path not in read] if read else files
        for file in followed(rest, "files"):
            self._check()
            try:
                indexed = self._understood(file)
            except NotFound:
                continue  # gone since the walk; its removal is another event
            except UNREADABLE as error:
                self.result.failed.append(Failure(item=file.path, reason=str(error)))
                continue
            if indexed is not None:
                self._collect(file, indexed)
        self._flush()
        return self._again

    def _bring_in_bulk(self, files: Sequence[SeenFile]) -> set[str]:
        """Index new files with the help of other processes, if there are many.

        Returns:
            The paths that were dealt with.
        """
        done: set[str] = set()
        new = {f.path for f in files if f.path not in self._stamps and not is_picture_place(f.path)}
        reader = self._keeper.bulk_reader() if len(new) >= FEWEST_FILES else None
        if reader is None:
            return done
        try:
            with reader:
                found = reader.read((f.path, f.mtime_ns, f.size) for f in files if f.path in new)
                for file, indexed in zip((f for f in files if f.path in new), found, strict=True):
                    self._check()
                    report_progress(len(done), len(new), "files")
                    if indexed is not None:
                        done.add(file.path)
                        self._collect(file, indexed)
        except HelperFailed as error:
            _log.info("files are read without the help of other processes: %s", error)
        return done

    def _understood(self, file: SeenFile) -> IndexedFile | None:
        """What to store; ``None`` when the index already says the same."""
        data = self._tree.read(file.path)
        stamp = self._stamps.get(file.path)
        if stamp is None or stamp.content_hash != content_hash(data):
            return self._keeper.understand(file.path, data, mtime_ns=file.mtime_ns)
        if (stamp.mtime_ns, stamp.size) == (file.mtime_ns, file.size):
            return None
        return self._restamped(file, data)

    def _restamped(self, file: SeenFile, data: bytes) -> IndexedFile | None:
        """The same content under a new time: nothing is chunked again."""
        store: BaseFileStore = self._keeper.store
        node = store.node(file.path)
        if node is None or node.content_hash != content_hash(data):
            return self._keeper.understand(file.path, data, mtime_ns=file.mtime_ns)
        times = {"st_mtime_ns": file.mtime_ns, "size": file.size}
        return IndexedFile(node.model_copy(update=times), tuple(store.chunks(file.path)))

    def _collect(self, file: SeenFile, indexed: IndexedFile) -> None:
        self._batch.append((file, indexed))
        self._batch_bytes += file.size
        most = _BATCH_FLAT_CHUNKS if isinstance(indexed, FlatFile) else _BATCH_CHUNKS
        self._batch_share += indexed.chunk_count / most
        if (
            len(self._batch) >= _BATCH_FILES
            or self._batch_share >= 1
            or self._batch_bytes >= _BATCH_BYTES
        ):
            self._flush()

    def _flush(self) -> None:
        batch, self._batch = self._batch, []
        self._batch_bytes, self._batch_share = 0, 0.0
        if not batch:
            return
        with self._locks.commit():
            ready: list[IndexedFile] = []
            for file, indexed in batch:
                now = self._tree.seen(file.path)
                if now == file and indexed.size == file.size:
                    ready.append(indexed)
                elif now is not None:
                    self._again.append(now)
            if self._force:  # whatever the index says of them is not trusted
                self._keeper.apply([], [indexed.path for indexed in ready])
            if self._keeper.apply(ready, []):
                self.result.files += len(ready)
                self.result.chunks += sum(indexed.chunk_count for indexed in ready)
            else:
                self._refused([indexed.path for indexed in ready])

    def _wanted(self, path: str) -> bool:
        seen = self._tree.seen(path)
        return seen is not None and self._keeper.indexable(path, seen.size)

    def _refused(self, paths: Iterable[str]) -> None:
        reason = "the index could not be written; it is tried again"
        self.result.failed += [Failure(item=path, reason=reason) for path in paths]


def _is_suspicious(vanished: int, total: int) -> bool:
    """Whether so many files of a layer are missing that its drive may be."""
    return vanished >= _GUARDED_FROM and vanished * 2 > total


def _differs(file: SeenFile, stamps: Mapping[str, FileStamp]) -> bool:
    stamp = stamps.get(file.path)
    return stamp is None or (stamp.mtime_ns, stamp.size) != (file.mtime_ns, file.size)


def _below(path: str, prefix: str) -> bool:
    return not prefix or path == prefix or path.startswith(f"{prefix}/")


def _all_below(ordered: Sequence[str], folder: str) -> Sequence[str]:
    """The paths below a folder, out of sorted ones."""
    after_slash = chr(ord("/") + 1)
    return ordered[bisect_left(ordered, f"{folder}/") : bisect_left(ordered, folder + after_slash)]


def _hit(path: str, unlisted: set[str]) -> bool:
    """Whether a path, or a folder above it, could not be looked at: no sign of deletion."""
    if not unlisted:
        return False
    ends = [0, *(n for n, letter in enumerate(path) if letter == "/"), len(path)]
    return any(path[:end] in unlisted for end in ends)
