"""Plans a change: what it does to every path, and the contents it needs. Nothing is changed yet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from agentscope_reme.errors import BadInput, BadPath, Conflict, NotFound
from agentscope_reme.files.changes import ANY, Change, Write
from agentscope_reme.files.journal import FolderChange, JournalEntry, PathChange
from agentscope_reme.files.text_encoding import decode_guessing
from agentscope_reme.files.wikilinks import parse_wikilinks, retarget_wikilinks
from agentscope_reme.schema import FileLink, content_hash
from agentscope_reme.store.base import BaseFileStore
from agentscope_reme.vault.applying import Content
from agentscope_reme.vault.tree import Tree
from agentscope_reme.workspace import is_markdown, refuse_permanent

_LOOK_AGAIN: Final = "Read the file again and decide anew."


@dataclass(frozen=True, slots=True)
class Plan:
    """A change that is ready to be journaled.

    Attributes:
        changes: files that arrive first, then those that go.
        contents: what written files shall hold, by path.
        folder: a folder that goes away as a whole.
        touched: files rewritten only because they link to what moves.
        inbound: links from other files to what goes or moves.
        unchanged: hashes of files that already hold what was to be written.
        restores: the change that this one takes back.
    """

    actor: str
    operation: str
    changes: tuple[PathChange, ...]
    contents: Mapping[str, Content] = field(default_factory=dict)
    folder: FolderChange | None = None
    touched: tuple[str, ...] = ()
    inbound: tuple[FileLink, ...] = ()
    unchanged: Mapping[str, str] = field(default_factory=dict)
    restores: JournalEntry | None = None

    @property
    def is_empty(self) -> bool:
        """Whether everything already is as wanted."""
        return not self.changes and self.folder is None


def plan_changes(tree: Tree, changes: Sequence[Change], *, actor: str, operation: str) -> Plan:
    """Plan writes and deletes of named paths, checking what the caller expects to stand there.

    Raises:
        BadPath: a path is unsafe or blocked.
        BadInput: one path is named twice.
        Conflict: a file is not the expected one.
        NotFound: a file to delete is not there.
    """
    arriving: list[PathChange] = []
    going: list[PathChange] = []
    contents: dict[str, Content] = {}
    unchanged: dict[str, str] = {}
    named: set[str] = set()
    for change in changes:
        path = tree.name(change.path)
        if path in named:
            raise BadInput(path, "one change names this path twice", "Combine the two.")
        named.add(path)
        before = _checked(tree, path, change)
        if isinstance(change, Write):
            tree.refuse_blocked(path)
            after = content_hash(change.data)
            if before == after:
                unchanged[path] = after
                continue
            contents[path] = Content(change.data)
            arriving.append(PathChange(path, before, after))
        elif before is not None:
            going.append(PathChange(path, before, None))
    return Plan(actor, operation, (*arriving, *going), contents, unchanged=unchanged)


def plan_delete(tree: Tree, store: BaseFileStore, path: str, *, actor: str) -> Plan:
    """Plan the removal of a file or a whole folder.

    Raises:
        BadPath: it is unsafe, or a folder that cannot be deleted.
        NotFound: nothing stands there.
    """
    path = tree.own_name(path)
    refuse_permanent(path)
    folder = FolderChange(path) if tree.is_folder(path) else None
    paths = _files_of(tree, path)
    changes = tuple(PathChange(p, tree.hash(p), None) for p in paths)
    inbound = _inbound(store, [path, *paths], within=set(paths))
    return Plan(actor, "delete", changes, folder=folder, inbound=inbound)


def plan_move(
    tree: Tree,
    store: BaseFileStore,
    src: str,
    dst: str,
    *,
    overwrite: bool,
    retarget: bool,
    actor: str,
) -> Plan:
    """Plan a rename; with `retarget` Markdown files that link to what moves are rewritten.

    Raises:
        BadPath: a path is unsafe, or a folder that cannot be moved.
        NotFound: nothing stands at `src`.
        Conflict: something stands at `dst` and `overwrite` is false, or it is a folder.
    """
    src = tree.own_name(src)
    respelled = tree.workspace.normalise(dst)
    dst = respelled if respelled.casefold() == src.casefold() else tree.own_name(dst)
    refuse_permanent(src)
    paths = _files_of(tree, src)
    _refuse_target(tree, src, dst, overwrite=overwrite)
    moves = {path: dst + path[len(src) :] for path in paths}
    mapping = {src: dst, **moves}
    arriving, going, contents = _moved_files(tree, moves, mapping if retarget else {})
    replaced = set(moves.values())  # what stood there is overwritten, its links with it
    inbound = _inbound(store, mapping, within=set(paths) | replaced)
    rewritten = _rewritten(tree, inbound, mapping, contents) if retarget else []
    arrivals = {change.path for change in arriving if change.path in contents}
    return Plan(
        actor,
        "move",
        (*arriving, *rewritten, *going),
        contents,
        FolderChange(src, dst) if tree.is_folder(src) else None,
        tuple(sorted(arrivals | {change.path for change in rewritten})),
        inbound,
    )


def entry_of(plan: Plan, change_id: str, at: str, *, atomic: bool) -> JournalEntry:
    """The journal line that announces a plan, or for an atomic one already says it."""
    entry = JournalEntry(change_id, at, plan.actor, plan.operation, plan.changes)
    return replace(entry, folder=plan.folder, state="done" if atomic else "prepared")


def _checked(tree: Tree, path: str, change: Change) -> str | None:
    """The hash of the file now, if it is the one the caller expects."""
    before = tree.hash(path)
    if change.expected is not ANY and change.expected != before:
        reason = "the file changed meanwhile" if before else "the file is gone"
        if change.expected is None:
            reason = "a file already stands there"
        raise Conflict(path, reason, _LOOK_AGAIN, current_hash=before)
    if not isinstance(change, Write) and before is None and change.expected is ANY:
        raise NotFound(path, "no such file", "Check the path with `list`.")
    return before


def _files_of(tree: Tree, path: str) -> list[str]:
    if tree.is_folder(path):
        return tree.everything_below(path)
    if tree.hash(path) is None:
        raise NotFound(path, "nothing stands there", "Check the path with `list`.")
    return [path]


def _refuse_target(tree: Tree, src: str, dst: str, *, overwrite: bool) -> None:
    if src == dst:
        raise BadPath(dst, "the file already has this path", "Name another target.")
    if dst.startswith(f"{src}/"):
        raise BadPath(dst, "a folder cannot be moved into itself", "Name another target.")
    if tree.same_file(src, dst):
        return  # the disk folds case and only the spelling changes
    if tree.is_folder(dst):
        raise Conflict(dst, "a folder stands there", "Name the new path itself.")
    tree.refuse_blocked(dst)
    current = tree.hash(dst)
    if current is None:
        return
    if not overwrite or tree.is_folder(src):
        remedy = "Choose another target, or pass `overwrite=True` for a file."
        raise Conflict(dst, "a file already stands there", remedy, current_hash=current)


def _moved_files(
    tree: Tree, moves: Mapping[str, str], mapping: Mapping[str, str]
) -> tuple[list[PathChange], list[PathChange], dict[str, Content]]:
    arriving: list[PathChange] = []
    going: list[PathChange] = []
    contents: dict[str, Content] = {}
    for old, new in moves.items():
        before, text = _as_moved(tree, old, mapping)
        if text is not None:
            contents[new] = Content(text)
        after = before if text is None else content_hash(text)
        there = None if tree.same_file(old, new) else tree.hash(new)
        arriving.append(PathChange(new, there, after, origin=old))
        going.append(PathChange(old, before, None))
    return arriving, going, contents


def _as_moved(tree: Tree, path: str, mapping: Mapping[str, str]) -> tuple[str, bytes | None]:
    """A moving file's hash, and the file with its links rewritten if any of them moves."""
    if mapping and is_markdown(path):
        data = tree.read(path)
        return content_hash(data), _retargeted(path, data, mapping)
    before = tree.hash(path)  # a file without links may be larger than the memory
    if before is None:
        raise NotFound(path, "nothing stands there", "Check the path with `list`.")
    return before, None


def _rewritten(
    tree: Tree,
    inbound: Iterable[FileLink],
    mapping: Mapping[str, str],
    contents: dict[str, Content],
) -> list[PathChange]:
    changes = []
    for source in sorted({link.source_path for link in inbound}):
        before = tree.hash(source)
        if before is None:
            continue
        text = _retargeted(source, tree.read(source), mapping)
        if text is not None:
            contents[source] = Content(text)
            changes.append(PathChange(source, before, content_hash(text)))
    return changes


def _retargeted(path: str, data: bytes, mapping: Mapping[str, str]) -> bytes | None:
    """The file with its links rewritten; ``None`` when none of them moves."""
    if not mapping or not is_markdown(path):
        return None
    text, encoding = decode_guessing(data)  # as the index read the links
    targets = (link.target_path for link in parse_wikilinks(text, path))
    moving = {target: mapping[target] for target in targets if target in mapping}
    if not moving:
        return None
    return encoding.encode(retarget_wikilinks(text, moving)[0])


def _inbound(
    store: BaseFileStore, targets: Iterable[str], *, within: set[str]
) -> tuple[FileLink, ...]:
    store.refresh()
    links = (link for target in dict.fromkeys(targets) for link in store.inlinks(target))
    return tuple(link for link in links if link.source_path not in within)
