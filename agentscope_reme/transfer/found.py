"""What a reader of a foreign format finds: conversations, and files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from agentscope_reme.errors import BadInput, StorageFailed
from agentscope_reme.messages import Message
from agentscope_reme.results import Failure
from agentscope_reme.transfer.sources import Source


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation as this library keeps it.

    Attributes:
        session_id: names it; the same one in every import of the same export.
        messages: oldest first, each with its own id, so that a second import adds nothing.
        card: the card that was already made of it, if there is one.
    """

    session_id: str
    messages: tuple[Message, ...]
    card: str | None = None


@dataclass(frozen=True, slots=True)
class Note:
    """One file as it is to stand in the workspace."""

    path: str
    data: bytes


@dataclass(slots=True)
class LinkReport:
    """What became of the links of a vault.

    Attributes:
        resolved: how many lead to a file that came along.
        unresolved: ``file: [[link]]`` that lead nowhere, as they did before.
        ambiguous: ``file: [[link]] -> choice`` where several files have that name.
    """

    resolved: int = 0
    unresolved: list[str] = field(default_factory=list)
    ambiguous: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Found:
    """Everything a reader found.

    Attributes:
        conversations: made one by one, while they are written.
        conversation_count: how many there will be at most, for whoever watches.
        notes: files, apart from conversations; read one by one, while they are written.
        note_count: how many there will be.
        links: what became of links between the notes.
        remarks: what a person should know, in sentences.
        failed: files of the source that could not be read, and why.
    """

    conversations: Iterator[Conversation] = field(default_factory=lambda: iter(()))
    conversation_count: int = 0
    notes: Iterator[Note] = field(default_factory=lambda: iter(()))
    note_count: int = 0
    links: LinkReport | None = None
    remarks: list[str] = field(default_factory=list)
    failed: list[Failure] = field(default_factory=list)

    def bytes_of(self, source: Source, name: str) -> bytes | None:
        """The bytes of a file; ``None`` for one that is told as failed: the others still come."""
        try:
            return source.read(name)
        except (BadInput, StorageFailed) as error:
            self.failed.append(Failure(item=printable(name), reason=str(error)))
            return None


def printable(text: str) -> str:
    """A name of the disk as text that can be written, also where it is no UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode()


@dataclass(frozen=True, slots=True)
class Format:
    """One foreign format.

    Attributes:
        name: as it is written on the command line.
        recognises: whether a source looks like it; reads little.
        find: reads it; ``into`` is the folder for notes, ``only_user`` whose memories are meant.
    """

    name: str
    recognises: Callable[[Source], bool]
    find: Callable[[Source, str, str], Found]
