"""Typed memories as files of a `ReMe`, and back: one search finds them, people can edit them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from agentscope_reme.clock import Clock
from agentscope_reme.engine import Engine
from agentscope_reme.errors import BadInput, Conflict, ReMeError
from agentscope_reme.facade.files import FileCalls
from agentscope_reme.facade.typed_agents import TypedAgentCalls
from agentscope_reme.files.documents import MarkdownDocument
from agentscope_reme.results import ExchangeResult, Failure
from agentscope_reme.schema import content_hash
from agentscope_reme.settings import Settings
from agentscope_reme.tools.answer_limit import counted
from agentscope_reme.typed import markdown
from agentscope_reme.typed.nodes import MemoryNode, MemoryType
from agentscope_reme.typed.targets import Names, Target
from agentscope_reme.workspace import Workspace

Files = FileCalls | str | os.PathLike[str]
"""A `ReMe`, or the folder of one."""

_DIGEST = "digest"


@dataclass(frozen=True, slots=True)
class _Exported:
    """A file of a memory, as it stands on disk."""

    path: str
    content_hash: str
    document: MarkdownDocument
    file: markdown.MemoryFile


class TypedExchangeCalls(TypedAgentCalls):
    """Export and import; files are written through the memory they belong to, its journal too."""

    async def export_markdown(
        self,
        reme: Files,
        *,
        user_name: Names = "",
        task_name: Names = "",
        tool_name: Names = "",
    ) -> ExchangeResult:
        """Write the memories of these targets as digest nodes, which `ReMe.search` finds.

        A file keeps its place when it was moved or renamed. The file of a memory that is gone is
        deleted. A file somebody has edited is left alone and told: `import_markdown` takes it
        over. Files nobody exported are never touched. Conversations are not exported.

        Args:
            reme: a `ReMe`, or its folder. Its files are read by whoever can open it: name only
                those who may share it.
            user_name: one user, or several.
            task_name: one task, or several.
            tool_name: one tool, or several.

        Raises:
            BadInput: nobody is named, or `reme` is neither.
            StorageFailed: a file cannot be written.
        """
        targets = self._named(user_name, task_name, tool_name)
        async with self._exchange(reme, targets) as (files, known, result):
            nodes = {node.memory_id: node for node in await self._exported(targets)}
            for memory_id, node in nodes.items():
                await _write(files, node, known.get(memory_id), result)
            for memory_id, exported in known.items():
                if memory_id not in nodes:
                    await _remove(files, exported, result)
        return _told(result)

    async def import_markdown(
        self,
        reme: Files,
        *,
        user_name: Names = "",
        task_name: Names = "",
        tool_name: Names = "",
    ) -> ExchangeResult:
        """Take over what people have edited in exported files, and memories the store has lost.

        An edit wins over the store. A file as it was exported changes nothing, and one of another
        target is left out.

        Args:
            reme: a `ReMe`, or its folder.
            user_name: one user, or several.
            task_name: one task, or several.
            tool_name: one tool, or several.

        Raises:
            BadInput: nobody is named, or `reme` is neither.
            StorageFailed: a memory cannot be stored.
        """
        targets = self._named(user_name, task_name, tool_name)
        async with self._exchange(reme, targets) as (files, known, result):
            for exported in known.values():
                try:
                    await self._take_over(files, exported, result)
                except (BadInput, Conflict) as error:
                    result.failed.append(Failure(item=exported.path, reason=str(error)))
        return _told(result)

    @asynccontextmanager
    async def _exchange(
        self, reme: Files, targets: Sequence[Target]
    ) -> AsyncIterator[tuple[FileCalls, dict[str, _Exported], ExchangeResult]]:
        """The files, those among them that were exported, and what there is to tell so far."""
        await self._memory.ready()
        result = ExchangeResult()
        async with _opened(reme) as files:
            yield files, await asyncio.to_thread(_scan, files, targets, result), result

    async def _exported(self, targets: Sequence[Target]) -> list[MemoryNode]:
        store = self._memory.parts.index.store
        found: list[MemoryNode] = []
        for target in targets:
            types = [target.memory_type]
            if target.kind == "personal":
                types.append(MemoryType.PROFILE)
            found += await asyncio.to_thread(store.list, target.where(*types))
        return found

    async def _take_over(
        self, files: FileCalls, exported: _Exported, result: ExchangeResult
    ) -> None:
        file = exported.file
        there = await asyncio.to_thread(self._memory.parts.index.store.get, [file.memory_id])
        if there and not _same_owner(there[0], file):
            raise BadInput(file.memory_id, "this memory is about somebody else", "Undo the edit.")
        if there and not file.edited:
            result.unchanged += 1
            return
        node = await self._memory.memories.restore(file, there[0] if there else None)
        await _save(files, node, exported)  # so that the next look finds it unedited
        (result.updated if there else result.created).append(file.memory_id)


@asynccontextmanager
async def _opened(reme: Files) -> AsyncIterator[FileCalls]:
    """The files of a memory; those of a folder are opened for this call alone."""
    if isinstance(reme, FileCalls):
        yield reme
        return
    if not isinstance(reme, str | os.PathLike):
        raise BadInput(reme, "this is neither a `ReMe` nor a folder", "Pass one of the two.")
    engine = Engine(Workspace(reme), settings=Settings(watch=False), clock=Clock())
    files = FileCalls(engine)
    await files.start()
    try:
        yield files
    finally:
        await files.close()


def _scan(
    files: FileCalls, targets: Sequence[Target], result: ExchangeResult
) -> dict[str, _Exported]:
    """Every exported file of these targets, by memory; unreadable ones are told."""
    root = files.application.components.workspace.root
    found: dict[str, _Exported] = {}
    for place in sorted((root / _DIGEST).rglob("*.md")):
        if place.is_symlink() or not place.is_file():
            continue
        path = place.relative_to(root).as_posix()
        exported = _read(place, path, result)
        if exported is None or not any(_is_about(exported.file, target) for target in targets):
            continue
        if exported.file.memory_id in found:
            reason = f"a copy of {found[exported.file.memory_id].path}"
            result.failed.append(Failure(item=path, reason=reason))
            continue
        found[exported.file.memory_id] = exported
    return found


def _read(place: Path, path: str, result: ExchangeResult) -> _Exported | None:
    try:
        data = place.read_bytes()
        document = MarkdownDocument.parse(data)
        if not markdown.is_ours(document):
            return None
        return _Exported(path, content_hash(data), document, markdown.read(document))
    except (OSError, ReMeError) as error:
        result.failed.append(Failure(item=path, reason=str(error)))
        return None


async def _write(
    files: FileCalls, node: MemoryNode, exported: _Exported | None, result: ExchangeResult
) -> None:
    if exported is not None and exported.file.edited:
        reason = "it was edited: `import_markdown` takes it over"
        result.failed.append(Failure(item=exported.path, reason=reason))
        return
    if exported is not None and markdown.says(exported.file, node):
        result.unchanged += 1
        return
    try:
        path = await _save(files, node, exported)
    except (BadInput, Conflict) as error:
        place = exported.path if exported is not None else markdown.path_for(node)
        result.failed.append(Failure(item=place, reason=str(error)))
        return
    (result.updated if exported is not None else result.created).append(path)


async def _save(files: FileCalls, node: MemoryNode, exported: _Exported | None) -> str:
    if exported is None:
        path = markdown.path_for(node)
        return (await files.write(path, markdown.new_file(node), expected_hash="")).path
    text = markdown.renewed(exported.document, node)
    written = await files.write(exported.path, text, expected_hash=exported.content_hash)
    return written.path


async def _remove(files: FileCalls, exported: _Exported, result: ExchangeResult) -> None:
    if exported.file.edited:
        reason = "its memory is gone, but it was edited: `import_markdown` brings it back"
        result.failed.append(Failure(item=exported.path, reason=reason))
        return
    await files.delete(exported.path)
    result.removed.append(exported.path)


def _is_about(file: markdown.MemoryFile, target: Target) -> bool:
    types = {target.memory_type} | ({MemoryType.PROFILE} if target.kind == "personal" else set())
    return file.memory_target == target.name and file.memory_type in types


def _same_owner(node: MemoryNode, file: markdown.MemoryFile) -> bool:
    return (node.memory_type, node.memory_target) == (file.memory_type, file.memory_target)


def _told(result: ExchangeResult) -> ExchangeResult:
    words = [
        f"{len(result.created)} created",
        f"{len(result.updated)} updated",
        f"{len(result.removed)} removed",
        f"{result.unchanged} unchanged",
    ]
    failed = f"; {counted(len(result.failed), 'file')} left alone" if result.failed else ""
    return result.model_copy(
        update={"answer": ", ".join(words) + failed, "success": not result.failed}
    )
