"""A vault over the real store, for processes that are killed, and what it is compared with."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentscope_reme.clock import Clock
from agentscope_reme.files.disk import Disk
from agentscope_reme.files.journal import Journal
from agentscope_reme.files.locks import WorkspaceLocks
from agentscope_reme.files.session_logs import SessionLogs
from agentscope_reme.messages import Message
from agentscope_reme.schema import content_hash
from agentscope_reme.settings import Settings
from agentscope_reme.store.base import BaseFileStore
from agentscope_reme.store.indexer import FileIndexer
from agentscope_reme.store.local_store import LocalFileStore
from agentscope_reme.store.log_indexer import LogIndexer
from agentscope_reme.vault.vault import Vault
from agentscope_reme.workspace import Workspace

WORDS = ("apple", "birch", "cedar", "delta", "ember", "fjord", "gravel", "harbour")
TAGS = ("garden", "travel", "work")
SESSIONS = ("s0", "s1")
LOGS = "session/dialog/"


@dataclass
class CrashHouse:
    """The parts the engine would hold."""

    vault: Vault
    logs: SessionLogs

    def documents(self) -> dict[str, str]:
        """Every file that is no log, by path."""
        paths = [path for path in self.vault.paths() if not path.startswith(LOGS)]
        return {path: self.vault.read(path).decode() for path in paths}

    def said(self) -> dict[str, list[str]]:
        """The texts in every log, by session."""
        return {
            session: [logged.message.text for logged in self.logs.log(session).read().messages]
            for session in SESSIONS
        }

    def append(self, session: str, texts: list[str]) -> None:
        """Record a turn the way `ReMe.record` does."""
        log = self.logs.log(session)
        rows = [{"role": "user", "content": text, "id": text.split()[0]} for text in texts]
        appended = log.append([Message.from_dict(row) for row in rows])
        self.vault.log_changed(log.path, appended.written)

    def close(self) -> None:
        self.vault.close()
        self.vault.store.close()


def open_house(root: str | Path) -> CrashHouse:
    """Open store and vault the way the engine does."""
    workspace, settings, disk, clock = Workspace(root), Settings(), Disk(), Clock("UTC")
    locks = WorkspaceLocks(workspace)
    workspace.create()
    store = LocalFileStore(workspace, settings=settings)
    store.open()
    vault = Vault(
        workspace,
        store,
        FileIndexer(settings),
        disk=disk,
        locks=locks,
        journal=Journal(workspace, disk=disk, clock=clock),
        clock=clock,
        settings=settings,
        log_indexer=LogIndexer(settings, disk),
    )
    vault.open()
    return CrashHouse(vault, SessionLogs(workspace, disk=disk, locks=locks, clock=clock))


def open_vault(root: str) -> Vault:
    """The vault alone."""
    return open_house(root).vault


def rebuilt_index(vault: Vault, paths: list[str], *, without: str) -> dict[str, Any]:
    """What an index says that is made from these files and nothing else."""
    settings = Settings(fsync=False)
    indexer = FileIndexer(settings)
    with tempfile.TemporaryDirectory() as folder:
        store = LocalFileStore(Workspace(folder), settings=settings)
        store.open()
        files = [indexer.index(path, vault.read(path), mtime_ns=0) for path in paths]
        store.apply(files)
        said = index_of(store, without=without)
        store.close()
    return said


def index_of(store: BaseFileStore, *, without: str) -> dict[str, Any]:
    """Everything an index says but the times of files; `without` is a path to leave out.

    Scores depend on every file, so searches are compared only when nothing is left out.
    """
    nodes = [node for node in store.nodes() if node.path != without]
    said: dict[str, Any] = {
        "nodes": {node.path: node.model_copy(update={"st_mtime_ns": 0}) for node in nodes},
        "chunks": {node.path: store.chunks(node.path) for node in nodes},
        "outlinks": {node.path: store.outlinks(node.path) for node in nodes},
        "inlinks": {
            node.path: [k for k in store.inlinks(node.path) if k.source_path != without]
            for node in nodes
        },
    }
    if not without:
        said["tags"] = store.tags()
        said["searches"] = {word: _hits(store, word) for word in (*WORDS, *TAGS, "apple cedar")}
    return said


def digested(state: dict[str, str]) -> dict[str, str]:
    """Short enough that a full pipe never holds the child up."""
    return {path: content_hash(text.encode())[:12] for path, text in state.items()}


def _hits(store: BaseFileStore, words: str) -> list[tuple[str, str, float]]:
    hits = store.keyword_search(words, limit=200)
    return sorted((hit.path, hit.chunk_id, round(hit.score, 4)) for hit in hits)
