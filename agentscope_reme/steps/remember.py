"""Remember: a person says outright what is worth keeping; no model is asked."""

from __future__ import annotations

import asyncio
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict

from agentscope_reme.errors import BadInput, Conflict, NotFound
from agentscope_reme.files.changes import Write
from agentscope_reme.files.documents import MarkdownDocument
from agentscope_reme.files.statements import Statement, statements_of
from agentscope_reme.files.wikilinks import WIKILINK
from agentscope_reme.results import RememberResult
from agentscope_reme.schema import content_hash
from agentscope_reme.steps.base import BaseStep, Ref
from agentscope_reme.steps.forget_documents import REMEMBERED, is_sources
from agentscope_reme.store.records import SearchFilter
from agentscope_reme.tools.scope import OWNER
from agentscope_reme.workspace import is_markdown

_LONGEST_CHARACTERS: Final = 2000
_LARGEST_NODE_BYTES: Final = 64 * 1024
_CANDIDATES: Final = 20
_ATTEMPTS: Final = 4
_CLAIM: Final = "remember"
_MARKER: Final = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")
_PUNCTUATION: Final = " .,;:!?\"'()。，、；：！？“”‘’（）「」"
_ARTICLES: Final = frozenset({"a", "an", "the"})
_NOTE: Final = re.compile(r"\s*\((?:[^()]*\b)?observed \d{4}-\d{2}-\d{2}[^()]*\)\s*$")
_CITED: Final = re.compile(r"\s*\((?:\[\[[^\[\]]+\]\](?:;\s*)?)+\)")
_TITLES: Final = {
    "en": ("Remembered", "What the person asked to remember."),
    "zh": ("记住的事", "用户要求记住的内容。"),
}
_SOURCES: Final = {"en": "## Sources", "zh": "## 来源"}


class RememberArguments(BaseModel):
    """What the step reads from its run; see `ReMe.remember`."""

    model_config = ConfigDict(frozen=True)

    text: str
    bucket: Literal["personal", "procedure", "wiki"] = "personal"
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Edit:
    """A node as it will be, and the statement in it."""

    path: str
    data: bytes
    before: bytes | None
    statement: str
    corroborated: bool


class RememberStep(BaseStep[RememberResult]):
    """Writes one dated statement into ``digest/<bucket>/remembered.md``.

    A statement that a node of the bucket makes already, in the same words and order, articles
    aside, is not repeated: it gets the date, and the sources. One that ended (``until``) is
    made anew.
    """

    workspace = Ref(lambda parts: parts.workspace)
    settings = Ref(lambda parts: parts.settings)
    language = Ref(lambda parts: parts.language)
    redactor = Ref(lambda parts: parts.redactor)
    vault = Ref(lambda parts: parts.vault)
    locks = Ref(lambda parts: parts.locks)
    store = Ref(lambda parts: parts.store)

    async def execute(self) -> RememberResult:
        """Remember what the run says.

        Raises:
            BadInput: the text is empty, too long or holds a secret that is blocked.
            NotFound: a source does not exist.
            Conflict: others kept changing the node.
            StorageFailed: the disk refused; nothing is changed.
        """
        return await asyncio.to_thread(self._one_by_one, self.context.parse(RememberArguments))

    def _one_by_one(self, arguments: RememberArguments) -> RememberResult:
        with self.locks.claim(_CLAIM, blocking=True):  # all of them write to the same few nodes
            return self._remember(arguments)

    def _remember(self, arguments: RememberArguments) -> RememberResult:
        said, redacted = self._clean(arguments.text)
        sources = [self._source(source) for source in dict.fromkeys(arguments.sources)]
        for attempt in range(1, _ATTEMPTS + 1):
            edit = self._edit(arguments.bucket, said, sources)
            expected = None if edit.before is None else content_hash(edit.before)
            try:
                commit = self.vault.commit(
                    [Write(edit.path, edit.data, expected)],
                    actor=OWNER.actor,
                    operation="remember",
                )
            except Conflict:
                if attempt == _ATTEMPTS:
                    raise
                continue
            return RememberResult(
                answer=_told(edit, redacted, changed=bool(commit.change_id)),
                path=edit.path,
                change_id=commit.change_id,
                content_hash=commit.hashes.get(edit.path),
                created=edit.path in commit.created,
                indexed=commit.indexed,
                statement=edit.statement,
                corroborated=edit.corroborated,
                redacted=redacted,
            )
        raise AssertionError("the last attempt returns or raises")

    def _clean(self, text: str) -> tuple[str, list[str]]:
        said = " ".join(text.split())
        if not said or not any(character.isalnum() for character in said):
            raise BadInput(text, "there is nothing to remember in it", "Pass a sentence.")
        if len(said) > _LONGEST_CHARACTERS:
            raise BadInput(
                text,
                f"longer than {_LONGEST_CHARACTERS} characters",
                "Write it into a file of its own with `write`.",
            )
        if self.settings.redact == "allow":
            return said, []
        clean = self.redactor.redact(said)
        if clean.found and self.settings.redact == "block":
            raise BadInput(
                clean.text,
                f"the text holds a secret ({', '.join(clean.found)})",
                "Leave it out, or set `Settings.redact`.",
            )
        return clean.text, list(clean.found)

    def _source(self, given: str) -> str:
        bare = given.strip().removeprefix("[[").removesuffix("]]")
        path = self.workspace.normalise(bare, what="source")
        if not self.vault.exists(path):
            raise NotFound(given, "no such file to rest on", "Name a file with `list`.")
        return path

    def _edit(self, bucket: str, said: str, sources: Sequence[str]) -> _Edit:
        day = self.context.now.date().isoformat()
        wanted = core_of(said)
        for path in self._candidates(bucket, said):
            data = self._read(path)
            if data is None:
                continue
            known = _statement_like(data, wanted)
            if known is not None:
                return _corroborated(path, data, known, day, sources)
        return self._added(bucket, said, day, sources)

    def _candidates(self, bucket: str, said: str) -> list[str]:
        """The nodes that may say so already: what was remembered, and what a search finds."""
        self.store.refresh()
        where = SearchFilter(path_prefix=f"digest/{bucket}/")
        hits = self.store.keyword_search(said, limit=_CANDIDATES, where=where)
        found = [*self._own_nodes(bucket), *(hit.path for hit in hits)]
        return [path for path in dict.fromkeys(found) if is_markdown(path)]

    def _own_nodes(self, bucket: str) -> list[str]:
        number, found = 1, list[str]()
        while self.vault.exists(path := _node_path(bucket, number)):
            found.append(path)
            number += 1
        return found

    def _added(self, bucket: str, said: str, day: str, sources: Sequence[str]) -> _Edit:
        own = self._own_nodes(bucket)
        before = self._read(own[-1]) if own else None
        path = own[-1] if own else _node_path(bucket, 1)
        if before is not None and len(before) > _LARGEST_NODE_BYTES:
            path, before = _node_path(bucket, len(own) + 1), None
        cited = f" ({'; '.join(f'[[{source}]]' for source in sources)})" if sources else ""
        item = f"- {said}{cited} (observed {day})"
        document = self._new_node() if before is None else MarkdownDocument.parse(before)
        _add_item(document, item)
        _add_sources(document, sources, _SOURCES[self.language])
        return _Edit(path, document.dump(), before, item[2:], corroborated=False)

    def _new_node(self) -> MarkdownDocument:
        name, description = _TITLES[self.language]
        document = MarkdownDocument.parse(f"# {name}\n")
        document.set("name", name)
        document.set("description", description)
        document.set("kind", REMEMBERED)
        return document

    def _read(self, path: str) -> bytes | None:
        try:
            return self.vault.read(path)
        except NotFound:
            return None


def core_of(text: str) -> tuple[str, ...]:
    """What a statement says: its words in order, without articles, dates, links and case.

    No more is passed over: who says ``for`` for ``from``, or ``C#`` for ``C``, says something else,
    and a repetition costs less than a statement that is lost.
    """
    bare = _CITED.sub("", _NOTE.sub("", text))
    bare = WIKILINK.sub(lambda match: match["alias"] or "", bare).casefold()
    words = (word.strip(_PUNCTUATION) for word in unicodedata.normalize("NFC", bare).split())
    return tuple(word for word in words if word and word not in _ARTICLES)


def _statement_like(data: bytes, wanted: tuple[str, ...]) -> Statement | None:
    document = MarkdownDocument.parse(data)
    if not wanted or document.front_matter_error:
        return None
    for statement in statements_of(document.body):
        sayable = statement.kind in ("item", "paragraph") and not is_sources(statement)
        ended = " until " in _note_of(statement.text)
        if sayable and not ended and core_of(_MARKER.sub("", statement.text)) == wanted:
            return statement
    return None


def _corroborated(
    path: str, data: bytes, known: Statement, day: str, sources: Sequence[str]
) -> _Edit:
    document = MarkdownDocument.parse(data)
    lines = document.body.split("\n")
    last = lines[known.end - 1]
    ending = "\r" if last.endswith("\r") else ""
    lines[known.end - 1] = _with_day(last.rstrip(), day, _fresh(known.text, sources)) + ending
    document.replace_body("\n".join(lines))
    _add_sources(document, sources, "## Sources")
    said = " ".join(" ".join(lines[known.start - 1 : known.end]).split())
    return _Edit(path, document.dump(), data, said.removeprefix("- "), corroborated=True)


def _fresh(text: str, sources: Sequence[str]) -> list[str]:
    return [source for source in sources if f"[[{source}" not in text]


def _with_day(line: str, day: str, sources: Sequence[str]) -> str:
    """The line with one more day in its note, and more sources before it."""
    note = _note_of(line)
    said = line[: len(line) - len(note)].rstrip()
    if sources:
        said += f" ({'; '.join(f'[[{source}]]' for source in sources)})"
    if not note.strip():
        return f"{said} (observed {day})"
    if f"observed {day}" in note:
        return f"{said} {note.strip()}"
    return f"{said} {note.strip()[:-1]}, observed {day})"


def _note_of(text: str) -> str:
    match = _NOTE.search(text)
    return match[0] if match else ""


def _add_item(document: MarkdownDocument, item: str) -> None:
    """Put an item behind the last one that is no source."""
    body = document.body
    lines = body.rstrip("\n").split("\n") if body.strip() else []
    statements = statements_of(body)
    sources = [s for s in statements if s.kind == "heading" and _is_heading_of_sources(s)]
    own = [s for s in statements if s.kind == "item" and not is_sources(s)]
    at = own[-1].end if own else (sources[0].start - 1 if sources else len(lines))
    before, after = lines[:at], lines[at:]
    gap = [""] if before and before[-1].strip() and not own else []
    after_gap = [""] if after and after[0].strip() else []
    document.replace_body("\n".join([*before, *gap, item, *after_gap, *after]) + "\n")


def _add_sources(document: MarkdownDocument, sources: Sequence[str], heading: str) -> None:
    """List sources under Sources, each once."""
    statements = statements_of(document.body)
    listed = "\n".join(s.text for s in statements if is_sources(s))
    missing = [f"- [[{source}]]" for source in sources if f"[[{source}" not in listed]
    if not missing:
        return
    lines = document.body.rstrip("\n").split("\n")
    headings = [s for s in statements if s.kind == "heading" and _is_heading_of_sources(s)]
    if not headings:
        document.replace_body("\n".join([*lines, "", heading, "", *missing]) + "\n")
        return
    entries = [s for s in statements if is_sources(s)]
    at = entries[-1].end if entries else headings[-1].end
    gap = [] if entries else [""]
    document.replace_body("\n".join([*lines[:at], *gap, *missing, *lines[at:]]) + "\n")


def _is_heading_of_sources(statement: Statement) -> bool:
    below = Statement(statement.start, statement.end, "", "item", statement.section)
    return is_sources(below)


def _node_path(bucket: str, number: int) -> str:
    suffix = "" if number == 1 else f"-{number}"
    return f"digest/{bucket}/remembered{suffix}.md"


def _told(edit: _Edit, redacted: Sequence[str], *, changed: bool) -> str:
    if not changed:
        told = f"{edit.path} says so already."
    elif edit.corroborated:
        told = f"{edit.path} said so already; it has another date now: {edit.statement}"
    else:
        told = f"Remembered in {edit.path}: {edit.statement}"
    if redacted:
        told += f"\nTaken out: {', '.join(redacted)}. Pass `Settings(redact='allow')` to keep them."
    return told
