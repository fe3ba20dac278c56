"""Plans the undoing of a journaled change, as a change of its own."""

from __future__ import annotations

from collections.abc import Callable

from agentscope_reme.errors import Conflict, NotFound
from agentscope_reme.files.journal import JournalEntry, PathChange
from agentscope_reme.vault.applying import Content, inverse, inverse_folder
from agentscope_reme.vault.planning import Plan
from agentscope_reme.vault.tree import Tree

Image = Callable[[str, str, str], Content | None]
"""Finds a kept content by hash, change id and path."""


def plan_undo(tree: Tree, entry: JournalEntry, image: Image, *, actor: str) -> Plan:
    """Plan the way back; undoing that plan leads forward again.

    Raises:
        Conflict: a path was changed since, by anybody.
        NotFound: the change was never made, its pre-images have expired, or what it concerned
            was forgotten.
    """
    if entry.scrubbed:
        raise NotFound(
            entry.change_id,
            "what this change concerned was forgotten",
            "What was forgotten cannot be brought back.",
        )
    if entry.state != "done":
        raise NotFound(entry.change_id, "this change was never made", "There is nothing to undo.")
    for change in entry.changes:
        _refuse_changed(tree, change)
    back = inverse(entry.changes)
    renamed = _only_renamed(back)
    contents = {}
    for change in back:
        if change.after is not None:
            tree.refuse_blocked(change.path)
            if change.path not in renamed:
                contents[change.path] = _kept(entry, change, change.after, image)
    operation = f"undo {entry.change_id}"
    return Plan(actor, operation, back, contents, inverse_folder(entry), restores=entry)


def _refuse_changed(tree: Tree, change: PathChange) -> None:
    current = tree.hash(change.path)
    if current == change.after:
        return
    raise Conflict(
        change.path,
        "the file was changed again after this change",
        "Undo the later change first, or edit the file by hand.",
        current_hash=current,
    )


def _only_renamed(changes: tuple[PathChange, ...]) -> set[str]:
    stood = {change.path: change.before for change in changes}
    return {c.path for c in changes if c.origin is not None and stood.get(c.origin) == c.after}


def _kept(entry: JournalEntry, change: PathChange, sha: str, image: Image) -> Content:
    content = image(sha, entry.change_id, change.path)
    if content is None:
        raise NotFound(
            change.path, "its earlier content is no longer kept", "Restore it from a backup."
        )
    return content
