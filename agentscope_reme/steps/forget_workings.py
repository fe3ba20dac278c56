"""What a forgetting looks at, and what of it a request names."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final

from agentscope_reme.errors import BadInput, BadPath, NotFound
from agentscope_reme.files.text_encoding import is_binary
from agentscope_reme.results import ForgottenPart
from agentscope_reme.schema import content_hash
from agentscope_reme.steps.forget_documents import Document
from agentscope_reme.steps.forget_sessions import Conversations
from agentscope_reme.vault.vault import Vault
from agentscope_reme.workspace import layer_of, refuse_permanent

IS_PINNED: Final = "the file is pinned: name it by its path to forget it"
"""Why a file stays."""
_NAMED: Final = "named"


@dataclass(slots=True)
class Workings:
    """Everything that is known while a forgetting is worked out.

    Attributes:
        documents: every file that holds text and is no conversation, by path.
        binaries: the content hash of every other file, by path.
        talks: the conversations.
        named: paths the person named: pinned ones among them may go.
        attachments: files that go with turns.
        gone_files: whole files that hold no text, such as images and resources.
        kept: pinned files inside a folder that was named.
    """

    documents: dict[str, Document]
    binaries: dict[str, str]
    talks: Conversations
    named: set[str] = field(default_factory=set)
    gone_files: dict[str, str] = field(default_factory=dict)
    kept: list[ForgottenPart] = field(default_factory=list)

    @property
    def gone_paths(self) -> set[str]:
        """Files that go, and logs of which nothing is left to cite."""
        whole = {path for path, one in self.documents.items() if one.gone}
        emptied = {talk.path for talk in self.talks.touched if talk.is_emptied}
        return whole | emptied | self.gone_files.keys()

    def may_change(self, document: Document) -> bool:
        """Whether a file may lose something: a pinned one only when it was named."""
        return not document.pinned or document.path in self.named


def load(vault: Vault) -> Workings:
    """Read every visible file once.

    Raises:
        StorageFailed: a file cannot be read: nobody could say whether it holds what is forgotten.
    """
    talks = Conversations(vault)
    documents: dict[str, Document] = {}
    binaries: dict[str, str] = {}
    for path in vault.paths():
        if talks.is_conversation(path) and talks.at(path) is not None:
            continue
        try:
            data = vault.read(path)
        except NotFound:
            continue
        if is_binary(data):
            binaries[path] = content_hash(data)
        else:
            documents[path] = Document(path, data)
    return Workings(documents, binaries, talks)


class Seeds:
    """Marks what a request names."""

    def __init__(self, workings: Workings) -> None:
        self._w = workings

    def path(self, path: str, start: int | None, end: int | None) -> None:
        """A file, a folder, or some lines of a file.

        Raises:
            NotFound: nothing stands there.
            BadInput: the lines are outside of the file.
            BadPath: it is a folder of the layout.
        """
        known = [*self._w.documents, *self._w.binaries, *(t.path for t in self._w.talks.loaded)]
        if path in known:
            self._w.named.add(path)
            if start is None and end is None:
                self._whole(path)
            else:
                self._span(path, start or 1, end)
            return
        below = [one for one in known if one.startswith(f"{path}/")]
        if not below:
            raise NotFound(path, "nothing stands there", "Check the path with `list`.")
        refuse_permanent(path)
        if start is not None or end is not None:
            raise BadPath(path, "a folder has no lines", "Name a file inside it.")
        pinned = [one for one in below if self._is_pinned(one)]
        self._w.named.update(set(below) - {*pinned})
        for one in below:
            if one in self._w.named:
                self._whole(one)
        self._w.kept += [ForgottenPart(layer="file", path=p, reason=IS_PINNED) for p in pinned]

    def unpinned(self, path: str, going: Collection[str], why: str = _NAMED) -> None:
        """A whole file that nobody named.

        It stays when it is pinned, or the card of a resource that stays: it would be made again.

        Args:
            path: the file.
            going: every file that goes with it.
            why: the reason, as a clause.
        """
        talk = self._w.talks.at(path) if self._w.talks.is_conversation(path) else None
        document = self._w.documents.get(path)
        if document is not None:
            resources = {one for one in document.evidence if layer_of(one) == "resource"}
            staying = (resources & (self._w.documents.keys() | self._w.binaries.keys())) - {*going}
            if document.pinned or (document.is_card and staying):
                return
        if talk is not None or document is not None or path in self._w.binaries:
            self._whole(path, why)

    def _is_pinned(self, path: str) -> bool:
        document = self._w.documents.get(path)
        return document is not None and document.pinned

    def _whole(self, path: str, why: str = _NAMED) -> None:
        talk = self._w.talks.at(path) if self._w.talks.is_conversation(path) else None
        if talk is not None:
            talk.gone |= {line.number for line in talk.lines if line.text or line.id}
            return
        if path in self._w.binaries:
            self._w.gone_files[path] = why
            return
        document = self._w.documents[path]
        document.gone = True
        document.why[0] = why

    def _span(self, path: str, start: int, end: int | None) -> None:
        talk = self._w.talks.at(path) if self._w.talks.is_conversation(path) else None
        if path in self._w.binaries:
            raise BadInput(path, "this file has no lines", "Forget it whole.")
        total = len(talk.lines) if talk else self._w.documents[path].text.count("\n") + 1
        last = total if end is None else end
        if not 1 <= start <= last <= total:
            raise BadInput(
                (start, end), f"{path} has {total} lines", "Pass lines that `read` shows."
            )
        wanted = set(range(start, last + 1))
        if talk is not None:
            talk.gone |= {line.number for line in talk.lines if line.number in wanted and line.text}
            return
        document = self._w.documents[path]
        document.dropped |= document.keys_on(wanted)
        for statement in document.pieces:
            if not wanted.isdisjoint(statement.lines):
                inside = wanted & set(statement.lines)
                document.cut |= inside
                document.why[min(inside)] = _NAMED
