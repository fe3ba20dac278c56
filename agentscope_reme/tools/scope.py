"""What one run may touch: a value held by its tools, made by code, never by a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from agentscope_reme.errors import BadPath
from agentscope_reme.workspace import is_markdown

EVERYWHERE: Final = ""
ROOT_MARKDOWN: Final = "*.md"


@dataclass(frozen=True, slots=True)
class Scope:
    """The rights of one actor. Paths are normalised ones; internal folders never get this far.

    An area is a folder with a final slash (``"daily/"``: everything below it), one file
    (``"MEMORY.md"``), `ROOT_MARKDOWN` (Markdown files directly in the workspace) or `EVERYWHERE`.

    Attributes:
        actor: who acts, as the journal shows it.
        writable: areas that may be changed.
        readable: areas that may be read.
        session_id: when set, daily cards of other sessions may not be changed.
        resource: when set, only the daily card made from this resource may be changed.
        day: when set, the only day whose cards may be written, ``YYYY-MM-DD``.
        card: when set, the owner's existing card; a new one is not made.
        source_path: the session's log, for ``source_conversation``; empty for its usual place.
    """

    actor: str
    writable: tuple[str, ...]
    readable: tuple[str, ...] = (EVERYWHERE,)
    session_id: str | None = None
    day: str | None = None
    card: str | None = None
    source_path: str = ""
    resource: str = ""

    @classmethod
    def owner(cls, actor: str) -> Scope:
        """The rights of `OWNER` under another name in the journal, for code that acts for them."""
        return cls(actor=actor, writable=(EVERYWHERE,))

    @property
    def is_card(self) -> bool:
        """Whether this run is tied to one card: that of a session or of a resource."""
        return self.session_id is not None or bool(self.resource)

    def check_write(self, path: str) -> None:
        """Refuse a path this actor may not change.

        Raises:
            BadPath: the path is outside every writable area.
        """
        if not _covered(path, self.writable):
            raise BadPath(path, f"{self.actor} may not change this path", _allowed(self.writable))

    def check_read(self, path: str) -> None:
        """Refuse a path this actor may not read.

        Raises:
            BadPath: the path is outside every readable area.
        """
        if not _covered(path, self.readable):
            raise BadPath(path, f"{self.actor} may not read this path", _allowed(self.readable))


OWNER: Final = Scope.owner("user")
"""The person whose memory it is: everything but the library's own folders."""

AGENT: Final = Scope(actor="agent", writable=("daily/", "digest/", ROOT_MARKDOWN))
"""An agent: evidence in ``session/`` and originals in ``resource/`` are there to be read only."""


def card_scope(
    *, actor: str, day: str, session_id: str, card: str | None = None, source_path: str = ""
) -> Scope:
    """The rights of a run that writes the card of one session on one day.

    Args:
        actor: who acts, as the journal shows it.
        day: the day, ``YYYY-MM-DD``.
        session_id: whose card it is; cards of other sessions in the folder stay as they are.
        card: the path of the existing card: then nothing else may be changed.
        source_path: the workspace path of the session's log, when it is not the usual one.
    """
    return Scope(
        actor=actor,
        writable=(f"daily/{day}/" if card is None else card,),
        session_id=session_id,
        day=day,
        card=card,
        source_path=source_path,
    )


def resource_scope(*, actor: str, day: str, resource: str, card: str | None = None) -> Scope:
    """The rights of a run that writes the card of one resource.

    Args:
        actor: who acts, as the journal shows it.
        day: the day of a new card, ``YYYY-MM-DD``.
        resource: whose card it is; other cards in the folder stay as they are.
        card: the path of the existing card: then nothing else may be changed.
    """
    area = f"daily/{day}/" if card is None else card
    return Scope(actor=actor, writable=(area,), day=day, card=card, resource=resource)


def _covered(path: str, areas: tuple[str, ...]) -> bool:
    return any(_in_area(path, area) for area in areas)


def _in_area(path: str, area: str) -> bool:
    if area == EVERYWHERE:
        return True
    if area == ROOT_MARKDOWN:
        return "/" not in path and is_markdown(path)
    return path == area or (area.endswith("/") and path.startswith(area))


def _allowed(areas: tuple[str, ...]) -> str:
    shown = ", ".join(f"`{area or 'everywhere'}`" for area in areas) or "nothing"
    return f"Allowed: {shown}."
