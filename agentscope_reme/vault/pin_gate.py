"""The last gate for pinned files: every change passes it, whoever planned it."""

from __future__ import annotations

from agentscope_reme.files.pins import is_person, is_pinned, refuse_pinned
from agentscope_reme.vault.planning import Plan
from agentscope_reme.vault.tree import Tree
from agentscope_reme.workspace import is_markdown


def refuse_pinned_changes(tree: Tree, plan: Plan) -> None:
    """Refuse a plan of automation that changes a pinned file, or pins or unpins one.

    Raises:
        BadPath: it does; nothing is changed.
        StorageFailed: a file cannot be read.
    """
    if is_person(plan.actor):
        return
    moved = {change.origin for change in plan.changes if change.origin is not None}
    for change in plan.changes:
        if not is_markdown(change.path):
            continue
        before = tree.read(change.path) if change.before is not None else None
        written = plan.contents.get(change.path)
        after = None if written is None else written.data
        if change.path in moved and before is not None and is_pinned(before):
            after = None  # it goes from here, wherever it arrives
        refuse_pinned(plan.actor, change.path, before, after)
