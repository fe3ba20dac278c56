"""Doctor: compares the disk, the index and the links, and names every difference."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Final

from pydantic import BaseModel, ConfigDict

from agentscope_reme.errors import ReMeError
from agentscope_reme.files.session_log import session_ids
from agentscope_reme.results import DoctorResult, Failure
from agentscope_reme.steps.base import Ref
from agentscope_reme.steps.session import SessionStep, open_log
from agentscope_reme.store.indexer import FileIndexer
from agentscope_reme.vault.live_view import LiveView

_TOO_LARGE: Final = "too_large"


class DoctorArguments(BaseModel):
    """What an examination reads from its run."""

    model_config = ConfigDict(frozen=True)

    repair: bool = False


class DoctorStep(SessionStep[DoctorResult]):
    """Compares disk, database and inverted lists; with `repair` the index is corrected.

    Every file is indexed afresh in memory and compared with what the database says of it, and that
    with what is searched. A file that differs is indexed again as if it were new.

    The files themselves are never changed: broken front matter, dangling links and unreadable log
    lines are for a person to mend.
    """

    store = Ref(lambda parts: parts.store)
    settings = Ref(lambda parts: parts.settings)

    async def execute(self) -> DoctorResult:
        """Examine the workspace of the run."""
        arguments = self.context.parse(DoctorArguments)
        return await asyncio.to_thread(self._examine, arguments.repair)

    def _examine(self, repair: bool) -> DoctorResult:
        self.store.refresh()
        view = LiveView(self.vault, actor="doctor")
        indexer = FileIndexer(self.settings)
        paths = [path for path in view.paths() if indexer.indexable(path)]
        stale = list(self._stale(view, indexer, paths))
        known = set(paths)
        stale += [
            Failure(item=node.path, reason="indexed, but the file is gone")
            for node in self.store.nodes()
            if node.path not in known
        ]
        for path in self.vault.dirty:
            stale.append(Failure(item=path, reason="waits to be indexed"))
        for path, reason in self.store.audit().items():
            stale.append(Failure(item=path, reason=reason))
        found = [*stale, *self._too_large(), *self._in_files(view), *self._in_logs()]
        repaired = self._repair(stale) if repair and stale else 0
        rows = [f"{difference.item}: {difference.reason}" for difference in found]
        if repaired:
            rows.append(f"Repaired {repaired} index entries.")
        return DoctorResult(
            answer="\n".join(rows) or f"No differences in {len(paths)} file(s).",
            differences=found,
            repaired=repaired,
        )

    def _stale(self, view: LiveView, indexer: FileIndexer, paths: list[str]) -> Iterator[Failure]:
        for path in paths:
            try:
                data = view.read(path)
            except ReMeError as error:
                yield Failure(item=path, reason=str(error))
                continue
            if len(data) > self.settings.max_indexed_file_bytes:
                self.context.values.setdefault(_TOO_LARGE, []).append(path)
                continue
            node = self.store.node(path)
            if node is None:
                yield Failure(item=path, reason="not indexed")
                continue
            fresh = indexer.index(path, data, mtime_ns=node.st_mtime_ns)
            if fresh.node != node:
                yield Failure(item=path, reason="the index describes another version")
            elif [c.id for c in fresh.chunks] != [c.id for c in self.store.chunks(path)]:
                yield Failure(item=path, reason="the index holds other chunks")

    def _too_large(self) -> Iterator[Failure]:
        limit = self.settings.max_indexed_file_bytes
        for path in self.context.values.get(_TOO_LARGE, ()):
            yield Failure(item=path, reason=f"larger than {limit} bytes, so it is not searched")

    def _in_files(self, view: LiveView) -> Iterator[Failure]:
        for node in self.store.nodes():
            if node.front_matter_error:
                yield Failure(item=node.path, reason=f"front matter: {node.front_matter_error}")
            for link in node.links:
                if "://" not in link.target_path and not self._stands(view, link.target_path):
                    yield Failure(
                        item=node.path, reason=f"links to [[{link.target_path}]], which is missing"
                    )

    def _stands(self, view: LiveView, path: str) -> bool:
        try:
            return view.exists(self.workspace.normalise(path))
        except ReMeError:
            return False

    def _in_logs(self) -> Iterator[Failure]:
        parts = self.context.application.components
        for session_id in session_ids(self.workspace):
            log = open_log(parts, session_id)
            for line in log.read().unreadable:
                yield Failure(item=f"{log.path}:{line}", reason="unreadable line, kept as it is")

    def _repair(self, stale: list[Failure]) -> int:
        paths = sorted({difference.item for difference in stale})
        self.store.reload()
        result = self.vault.apply_foreign(paths, force=True)
        return result.files + result.removed
