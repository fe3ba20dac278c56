"""Turns what is marked into new contents of files, and into traces by which copies are found."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Final

import yaml

from agentscope_reme.errors import BadPath, Conflict
from agentscope_reme.files.change_set import ChangeSet
from agentscope_reme.files.changes import Write
from agentscope_reme.files.pruning import GONE, pruned_root
from agentscope_reme.files.text_encoding import decode_guessing
from agentscope_reme.files.traces import (
    Traces,
    lines_of,
    name_as_text,
    squeezed,
    telling,
    words_of,
)
from agentscope_reme.schema import content_hash
from agentscope_reme.steps.forget_documents import Document
from agentscope_reme.steps.forget_query import TOPICS, Matcher, without_targets
from agentscope_reme.steps.forget_sessions import Conversation
from agentscope_reme.steps.forget_summaries import (
    SUMMARY,
    rewritten_summaries,
    sweep_summaries,
)
from agentscope_reme.steps.forget_workings import Workings
from agentscope_reme.tools.day_page import BLOCK_END, BLOCK_START
from agentscope_reme.tools.file_operations import FileOperations
from agentscope_reme.vault.erasure import Erasure, Rewrite
from agentscope_reme.workspace import is_markdown, layer_of

_DAY: Final = re.compile(r"daily/(\d{4}-\d{2}-\d{2})(?:/|\.md$)")
_BLOCK: Final = re.compile(rf"{re.escape(BLOCK_START)}.*?{re.escape(BLOCK_END)}", re.DOTALL)
_KEPT_NAMES: Final = re.compile(r"(?:\d{4}-\d{2}-\d{2}|interests)")

Stage = Callable[[ChangeSet], FileOperations]
"""Gives the file operations of the person over a staged overlay."""


@dataclass(slots=True)
class Outcome:
    """What would be done.

    Attributes:
        erasure: for the vault.
        renamed: new names by old, of files named after what goes.
        unlinked: files that lose links and nothing else.
        topics: files of topics that lose some.
    """

    erasure: Erasure
    renamed: dict[str, str] = field(default_factory=dict)
    unlinked: list[str] = field(default_factory=list)
    topics: list[str] = field(default_factory=list)

    def left_of(self, document: Document) -> Document:
        """What is left of a document that stays."""
        path = self.renamed.get(document.path, document.path)
        written = self.erasure.writes.get(path)
        return document if written is None else Document(path, written.data)


class ErasureBuilder:
    """Works the new contents out, in an overlay; nothing reaches the disk.

    Args:
        workings: with everything marked.
        matcher: the query, for files that are pruned as data.
        staged: an overlay over the live files.
        operations: the person's operations over that overlay.
        keep_names: no file that stays gets another name.
        whole_logs: conversations of which every turn goes leave no file.
    """

    def __init__(
        self,
        workings: Workings,
        matcher: Matcher,
        staged: ChangeSet,
        operations: FileOperations,
        *,
        keep_names: bool = False,
        whole_logs: bool = False,
    ) -> None:
        self._w = workings
        self._matcher = matcher
        self._staged = staged
        self._operations = operations
        self._keep_names = keep_names
        self._whole_logs = whole_logs
        self._gone = {p for p, d in workings.documents.items() if d.gone} | {*workings.gone_files}
        self._new: dict[str, bytes] = {}

    def build(self) -> Outcome:
        """The outcome.

        Raises:
            Conflict: a file changed since it was read.
        """
        self._rewrite()
        traces = self._traces()
        self._sweep_archives(traces)
        sweep_summaries(self._w.talks, traces)
        topics = self._prune_topics(traces)
        renamed = self._stage_files(traces)
        traces = self._traces_of(traces.words, traces.lines, {*renamed})
        writes, removes = self._collected()
        logs = self._rewritten_logs(traces)
        whole = {talk.path: content_hash(talk.data) for talk, _ in logs if self._goes_whole(talk)}
        writes |= {talk.path: rewrite for talk, rewrite in logs if talk.path not in whole}
        removes |= whole
        unlinked = [p for p in self._new if not self._is_cut(p)]
        erasure = Erasure(
            writes,
            removes,
            tuple(sorted({talk.session_id for talk, _ in logs})),
            traces,
            frozenset(p for p in writes if not self._is_cut(p) and p not in renamed.values()),
            rewritten_summaries(self._w.talks),
        )
        return Outcome(erasure, renamed, unlinked, topics)

    def _goes_whole(self, talk: Conversation) -> bool:
        return self._whole_logs and all(line.number in talk.gone for line in talk.messages)

    def _is_cut(self, path: str) -> bool:
        document = self._w.documents.get(path)
        if document is None:
            return True
        return bool(document.cut or document.dropped or document.gone)

    def _rewrite(self) -> None:
        for path, document in self._w.documents.items():
            if document.gone or not self._w.may_change(document):
                continue
            data = document.rewritten(self._gone)
            if data != document.data:
                self._new[path] = data

    # What only the forgotten text had.

    def _traces(self) -> Traces:
        lost = list(self._lost_texts())
        words: set[str] = set()
        lines: set[str] = set()
        for text in lost:
            words |= words_of(text)
            lines |= lines_of(text)
        words = telling(words) - self._stems_that_stay()
        for text in self._left_texts():
            if not words and not lines:
                break
            plain = squeezed(text)
            lines = {line for line in lines if line not in plain}
            if any(word in plain for word in words):  # far quicker than taking it apart
                words -= words_of(text)
        return self._traces_of(words, lines)

    def _traces_of(
        self, words: Iterable[str], lines: Iterable[str], renamed: Iterable[str] = ()
    ) -> Traces:
        paths = self._gone.union(renamed)
        return Traces(words, lines, paths, self._hashes_of_gone(), self._matcher.phrase)

    def _stems_that_stay(self) -> set[str]:
        """Whole names of other files: links spell them, though no text may."""
        staying = (p for p, document in self._w.documents.items() if not document.gone)
        return {PurePosixPath(path).stem.casefold() for path in staying}

    def _lost_texts(self) -> Iterator[str]:
        for talk in self._w.talks.touched:
            yield from (line.text for line in talk.lines if line.number in talk.gone)
        for document in self._w.documents.values():
            if document.gone:
                yield without_targets(document.text)
                yield PurePosixPath(document.path).stem
            elif document.cut or document.dropped:
                yield from (s.text for s in document.pieces if document.is_cut(s))
                names = document.said_in_names()
                yield from (names[key] for key in document.dropped if key in names)
        yield from (PurePosixPath(path).stem for path in self._w.gone_files)

    def _left_texts(self) -> Iterator[str]:
        """What stays, without the names of other files and without what is made anew from it."""
        touched = {talk.session_id for talk in self._w.talks.touched}
        for talk in self._w.talks.loaded:
            if talk.layer == SUMMARY:  # a copy: it must not keep itself
                continue
            if talk.layer == "turn" or talk.session_id not in touched:
                yield "\n".join(line.text for line in talk.lines if line.number not in talk.gone)
        for path, document in self._w.documents.items():
            if document.gone:
                continue
            if self._keep_names:
                yield name_as_text(path)
            if TOPICS.fullmatch(path):
                continue
            text = document.text
            if path in self._new:
                text, _ = decode_guessing(self._new[path])
            if document.is_day_page:
                text = _BLOCK.sub("", text)
            yield without_targets(text)

    def _hashes_of_gone(self) -> set[str]:
        hashes = {content_hash(d.data) for d in self._w.documents.values() if d.gone and d.data}
        return hashes | {self._w.binaries[p] for p in self._w.gone_files if p in self._w.binaries}

    # Copies that are swept by their traces.

    def _sweep_archives(self, traces: Traces) -> None:
        """Rows of the same sessions that repeat what goes: results of tools, summaries."""
        for talk in list(self._w.talks.touched):
            for other in self._w.talks.of(talk.session_id):
                if other.layer != "turn":
                    other.gone |= {
                        line.number
                        for line in other.lines
                        if line.text and line.number not in other.gone and traces.in_text(line.text)
                    }

    def _prune_topics(self, traces: Traces) -> list[str]:
        def is_tainted(text: str) -> bool:
            return (
                any(path in text for path in self._gone)
                or traces.in_text(text)
                or self._matcher.matches(text)
            )

        pruned = []
        for path, document in self._w.documents.items():
            if not TOPICS.fullmatch(path) or document.gone:
                continue
            data = _pruned_yaml(document, is_tainted)
            if data is not None:
                self._new[path] = data
                document.dropped.add("topics")
                pruned.append(path)
        return pruned

    # The files themselves.

    def _stage_files(self, traces: Traces) -> dict[str, str]:
        for path in sorted(self._w.documents):
            document = self._w.documents[path]
            if document.gone:
                self._same(path, document.data)
                self._staged.delete(path)
            elif path in self._new:
                self._staged.write(path, self._new[path], expected=content_hash(document.data))
        renamed = {}
        for path in sorted(self._w.documents):
            document = self._w.documents[path]
            named = self._w.may_change(document) and not document.gone and is_markdown(path)
            if named and not self._keep_names and _is_named_after(path, traces):
                renamed[path] = self._neutral_name(path)
                self._staged.move(path, renamed[path])
        self._refresh_day_pages([*self._gone, *self._new, *renamed])
        return renamed

    def _same(self, path: str, data: bytes) -> None:
        if self._staged.read(path) != data:
            raise Conflict(path, "the file changed meanwhile", "Look again.")

    def _neutral_name(self, path: str) -> str:
        folder, _, _ = path.rpartition("/")
        suffix = PurePosixPath(path).suffix
        for number in range(1, 10_000):
            name = f"{folder}/note-{number}{suffix}" if folder else f"note-{number}{suffix}"
            if not self._staged.exists(name) and name not in self._w.documents:
                return name
        raise BadPath(path, "no free name was found beside it", "Rename the file first.")

    def _refresh_day_pages(self, paths: Iterable[str]) -> None:
        days = {match[1] for path in paths if (match := _DAY.match(path))}
        for day in sorted(days):
            page = self._w.documents.get(f"daily/{day}.md")
            if page is None or page.gone or not self._w.may_change(page):
                continue
            if BLOCK_START in page.text:
                self._operations.daily_reindex(day)

    def _collected(self) -> tuple[dict[str, Rewrite], dict[str, str]]:
        writes: dict[str, Rewrite] = {}
        removes = {path: self._w.binaries[path] for path in self._w.gone_files}
        for change in self._staged.changes():
            expected = change.expected if isinstance(change.expected, str) else None
            if isinstance(change, Write):
                known = self._w.documents.get(change.path)
                size = len(known.data) if known is not None else 0
                writes[change.path] = Rewrite(change.data, expected, size)
            elif expected is not None:
                removes[change.path] = expected
        return writes, removes

    def _rewritten_logs(self, traces: Traces) -> list[tuple[Conversation, Rewrite]]:
        sessions = {talk.session_id for talk in self._w.talks.touched}
        for path, document in self._w.documents.items():
            session = document.front.get("session_id")
            if session and (self._is_cut(path) or path in traces.paths):
                sessions.add(str(session))
        found = []
        for talk in self._w.talks.loaded:
            if talk.session_id in sessions and talk.layer != SUMMARY:
                rewrite = talk.rewritten(traces, self._gone)
                if rewrite is not None:
                    found.append((talk, rewrite))
        return found


def _is_named_after(path: str, traces: Traces) -> bool:
    stem = PurePosixPath(path).stem
    if layer_of(path) == "daily" and _KEPT_NAMES.fullmatch(stem):
        return False
    return traces.in_name(stem) or not traces.words.isdisjoint(words_of(stem))


def _pruned_yaml(document: Document, is_tainted: Callable[[str], bool]) -> bytes | None:
    """A file of topics without those that speak of what goes; ``None`` when none does."""
    try:
        value: Any = yaml.safe_load(document.text)
    except (yaml.YAMLError, ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):  # nobody can tell what belongs together
        return b"" if is_tainted(document.text) else None
    rest = pruned_root(value, is_tainted)
    if rest == value:
        return None
    kept = {} if rest is GONE else rest
    return yaml.safe_dump(kept, allow_unicode=True, sort_keys=False, width=100).encode()
