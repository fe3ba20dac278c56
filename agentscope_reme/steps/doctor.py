"""Doctor: compares the disk, the index and the links, and names every difference."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping, Set
from typing import Final

from pydantic import BaseModel, ConfigDict

from agentscope_reme.errors import ReMeError, StorageFailed
from agentscope_reme.files.session_names import DIALOG_FOLDER, odd_entries, session_ids
from agentscope_reme.results import DoctorResult, Failure
from agentscope_reme.schema import FileNode
from agentscope_reme.steps.base import Ref
from agentscope_reme.steps.session import SessionStep, open_log
from agentscope_reme.store.indexer import FileIndexer, is_picture_place
from agentscope_reme.tools.answer_limit import ALL_IN_FIELDS, capped_lines
from agentscope_reme.vault.live_view import LiveView

_TOO_LARGE: Final = "too_large"
_DAY_PAGE: Final = re.compile(r"daily/(\d{4}-\d{2}-\d{2})\.md")


def _remedy(path: str) -> str:
    """What to do about a link of this file that leads nowhere."""
    day = _DAY_PAGE.fullmatch(path)
    by_hand = "mend or remove the link"
    return f"run `daily_reindex` with date={day[1]}, or {by_hand}" if day else by_hand


class DoctorArguments(BaseModel):
    """What an examination reads from its run."""

    model_config = ConfigDict(frozen=True)

    repair: bool = False


class DoctorStep(SessionStep[DoctorResult]):
    """Compares disk, database and inverted lists; with `repair` the index is corrected.

    Every file is indexed afresh in memory and compared with what the database says of it, and that
    with what is searched. A file that differs is indexed again as if it were new. Lock files that
    nobody holds go as well.

    The files themselves are never changed: broken front matter, dangling links and unreadable log
    lines are for a person to mend.
    """

    store = Ref(lambda parts: parts.store)
    settings = Ref(lambda parts: parts.settings)
    embedder = Ref(lambda parts: parts.embedder)

    async def execute(self) -> DoctorResult:
        """Examine the workspace of the run."""
        arguments = self.context.parse(DoctorArguments)
        return await asyncio.to_thread(self._examine, arguments.repair)

    def _examine(self, repair: bool) -> DoctorResult:
        self.store.refresh()
        view = LiveView(self.vault, actor="doctor")
        sees = self.embedder is not None and self.embedder.sees
        indexer = FileIndexer(self.settings, pictures=sees)
        nodes = {node.path: node for node in self.store.nodes()}
        visible = view.paths()
        paths = [path for path in visible if indexer.indexable(path)]
        stale = list(self._stale(view, indexer, paths, nodes))
        known = {*paths, *filter(is_picture_place, visible)}  # another process may index these
        stale += [
            Failure(item=path, reason="indexed, but the file is gone")
            for path in sorted(nodes.keys() - known)
            if self.store.node(path) is not None
        ]
        for path in self.vault.dirty:
            stale.append(Failure(item=path, reason="waits to be indexed"))
        for path, reason in self.store.audit().items():
            stale.append(Failure(item=path, reason=reason))
        found = [
            *stale,
            *self._too_large(),
            *self._in_files(view, nodes, set(visible)),
            *self._in_logs(),
        ]
        repaired = self._repair(stale) if repair and stale else 0
        if repair:
            self.context.application.components.locks.remove_unheld()
        rows = [f"{difference.item}: {difference.reason}" for difference in found]
        if repaired:
            rows.append(f"Repaired {repaired} index entries.")
        answer, _ = capped_lines(rows, self.settings.tool_answer_bytes, ALL_IN_FIELDS)
        return DoctorResult(
            answer=answer or f"No differences in {len(paths)} file(s).",
            differences=found,
            repaired=repaired,
        )

    def _stale(
        self, view: LiveView, indexer: FileIndexer, paths: list[str], nodes: Mapping[str, FileNode]
    ) -> Iterator[Failure]:
        for path in paths:
            reason = self._difference(view, indexer, path, nodes.get(path))
            if reason is not None:  # it may have been written a moment ago
                reason = self._difference(view, indexer, path, self.store.node(path))
            if reason is not None:
                yield Failure(item=path, reason=reason)

    def _difference(
        self, view: LiveView, indexer: FileIndexer, path: str, node: FileNode | None
    ) -> str | None:
        try:
            data = view.read(path)
        except ReMeError as error:
            return str(error)
        if len(data) > self.settings.max_indexed_file_bytes:
            self.context.values.setdefault(_TOO_LARGE, []).append(path)
            return None
        if node is None:
            return "not indexed"
        fresh = indexer.index(path, data, mtime_ns=node.st_mtime_ns).node
        if fresh == node or fresh.model_dump_json() == node.model_dump_json():
            return None  # the second is for `.nan` in front matter, which equals nothing
        return "the index describes another version"

    def _too_large(self) -> Iterator[Failure]:
        limit = self.settings.max_indexed_file_bytes
        for path in self.context.values.get(_TOO_LARGE, ()):
            yield Failure(item=path, reason=f"larger than {limit} bytes, so it is not searched")

    def _in_files(
        self, view: LiveView, nodes: Mapping[str, FileNode], visible: Set[str]
    ) -> Iterator[Failure]:
        for node in nodes.values():
            if node.front_matter_error:
                yield Failure(item=node.path, reason=f"front matter: {node.front_matter_error}")
            for link in node.links:
                target = link.target_path
                if not ("://" in target or target in visible or self._stands(view, target)):
                    missing = f"links to [[{target}]], which is missing; {_remedy(node.path)}"
                    yield Failure(item=node.path, reason=missing)

    def _stands(self, view: LiveView, path: str) -> bool:
        try:
            return view.exists(self.workspace.normalise(path))
        except ReMeError:
            return False

    def _in_logs(self) -> Iterator[Failure]:
        parts = self.context.application.components
        try:
            odd, named = odd_entries(self.workspace), session_ids(self.workspace)
        except StorageFailed as error:
            yield Failure(item=DIALOG_FOLDER, reason=str(error))
            return
        yield from (Failure(item=path, reason=reason) for path, reason in odd.items())
        for session_id in named:
            log = open_log(parts, session_id)
            try:
                unreadable = log.read().unreadable
            except ReMeError as error:
                yield Failure(item=log.path, reason=str(error))
                continue
            for line in unreadable:
                yield Failure(item=f"{log.path}:{line}", reason="unreadable line, kept as it is")

    def _repair(self, stale: list[Failure]) -> int:
        paths = sorted({difference.item for difference in stale})
        self.store.reload()
        result = self.vault.apply_foreign(paths, force=True)
        return result.files + result.removed
