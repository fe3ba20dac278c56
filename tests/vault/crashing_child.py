"""A process that changes a workspace at random and says so after each acknowledged change.

Before a change it says what it is about to do, after it what is acknowledged; the parent kills it
at a moment of its choosing.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from agentscope_reme.files.changes import Change, Delete, Write
from tests.vault.crash_house import (
    SESSIONS,
    TAGS,
    WORDS,
    CrashHouse,
    digested,
    open_house,
)

FOLDERS = ("digest/wiki", "digest/wiki/deep", "digest/personal", "daily/2026-06-20")
KINDS = (
    *("write", "write", "edit", "edit", "move", "many", "many", "delete", "append", "append"),
    *("move folder", "delete folder", "undo", "undo", "undo"),
)
Files = dict[str, str]


@dataclass
class Step:
    """One change: how files and logs look after it, and the call that makes it.

    The call returns the id of the change when it can be undone.
    """

    files: Files
    logs: dict[str, list[str]]
    run: Callable[[], str]
    session: str = ""


class Child:
    """Knows what the workspace holds, and what it was before the last change."""

    def __init__(self, root: str, seed: int) -> None:
        self.house: CrashHouse = open_house(root)
        self.house.vault.scan()
        self.chance = random.Random(seed)
        self.seed = seed
        self.number = 0
        self.files = self.house.documents()
        self.logs = self.house.said()
        self.last: tuple[str, Files] | None = None

    def next(self) -> Step:
        """What to do now; a kind that is not possible makes way for a write."""
        self.number += 1
        kind = self.chance.choice(KINDS)
        planned: Step | None = getattr(self, f"_{kind.replace(' ', '_')}")()
        return planned or self._write()

    def carry_out(self, step: Step) -> None:
        before = self.files
        change_id = step.run()
        found = self.house.documents()
        assert found == step.files, (before, step.files, found)
        assert self.house.said() == step.logs
        self.files, self.logs = step.files, step.logs
        if change_id:
            self.last = (change_id, before)

    def _write(self) -> Step:
        path = f"{self.chance.choice(FOLDERS)}/n{self.chance.randrange(8)}.md"
        return self._commit([Write(path, self._text().encode())])

    def _edit(self) -> Step | None:
        path = self._some()
        return self._commit([Write(path, self._text().encode())]) if path else None

    def _delete(self) -> Step | None:
        path = self._some()
        return self._commit([Delete(path)]) if path else None

    def _many(self) -> Step:
        some = sorted(self.files)
        gone = [Delete(path) for path in self.chance.sample(some, min(2, len(some)))]
        taken = {change.path for change in gone}
        names = [f"{folder}/m{self.chance.randrange(3)}.md" for folder in FOLDERS]
        new: list[Change] = [Write(n, self._text().encode()) for n in names if n not in taken]
        return self._commit([*new, *gone])

    def _move(self) -> Step | None:
        src = self._some()
        dst = f"{self.chance.choice(FOLDERS)}/moved{self.chance.randrange(6)}.md"
        return self._renamed(src, dst, {src: dst}) if src and dst not in self.files else None

    def _move_folder(self) -> Step | None:
        src, dst = self._some_folder(), f"digest/moved{self.chance.randrange(3)}"
        taken = (self.house.vault.workspace.root / dst).exists()
        if src is None or taken or dst.startswith(f"{src}/"):
            return None
        below = [path for path in self.files if path.startswith(f"{src}/")]
        return self._renamed(src, dst, {path: dst + path[len(src) :] for path in below})

    def _delete_folder(self) -> Step | None:
        folder = self._some_folder()
        if folder is None:
            return None
        left = {p: text for p, text in self.files.items() if not p.startswith(f"{folder}/")}

        def run() -> str:
            return self.house.vault.delete(folder, actor="child").change_id

        return Step(left, self.logs, run)

    def _undo(self) -> Step | None:
        if self.last is None:
            return None
        change_id, before = self.last
        self.last = None

        def run() -> str:
            return self.house.vault.undo(change_id, actor="child").change_id

        return Step(dict(before), self.logs, run)

    def _append(self) -> Step:
        session = self.chance.choice(SESSIONS)
        number = self.chance.randrange(1, 4)
        texts = [f"t{self.seed}-{self.number}-{n} {self._words()}" for n in range(number)]
        logs = {**self.logs, session: [*self.logs[session], *texts]}

        def run() -> str:
            self.house.append(session, texts)
            return ""

        return Step(self.files, logs, run, session)

    def _commit(self, changes: list[Change]) -> Step:
        after = dict(self.files)
        for change in changes:
            if isinstance(change, Write):
                after[change.path] = change.data.decode()
            else:
                after.pop(change.path)

        def run() -> str:
            made = self.house.vault.commit(changes, actor="child", operation="write")
            assert made.indexed
            return made.change_id

        return Step(after, self.logs, run)

    def _renamed(self, src: str, dst: str, moves: Files) -> Step:
        after = {}
        for path, text in self.files.items():
            for old, new in moves.items():
                text = text.replace(f"[[{old}]]", f"[[{new}]]")
            after[moves.get(path, path)] = text

        def run() -> str:
            return self.house.vault.move(src, dst, actor="child").change_id

        return Step(after, self.logs, run)

    def _some(self) -> str:
        return self.chance.choice(sorted(self.files)) if self.files else ""

    def _some_folder(self) -> str | None:
        folders = {path.rpartition("/")[0] for path in self.files}
        return self.chance.choice(sorted(folders)) if folders else None

    def _text(self) -> str:
        front = f"---\nmemory_tags: [{self.chance.choice(TAGS)}]\n---\n"
        target = self._some() or "digest/wiki/n0.md"
        return f"{front}{self.seed}-{self.number} [[{target}]] {self._words()}\n"

    def _words(self) -> str:
        return " ".join(self.chance.choices(WORDS, k=self.chance.randrange(1, 200)))


def main(root: str, seed: int, out: Connection) -> None:
    """Change and tell, until killed."""
    child = Child(root, seed)
    out.send(("done", digested(child.files), child.logs, ""))
    while True:
        step = child.next()
        out.send(("trying", digested(step.files), step.logs, step.session))
        child.carry_out(step)
        out.send(("done", digested(step.files), step.logs, ""))


def warm_up() -> Any:
    """Import, ahead of any child, what a first change would import."""
    from agentscope_reme.files.wikilinks import parse_wikilinks
    from agentscope_reme.store.tokenizers import MemoryTokenizer

    return MemoryTokenizer().query_terms("apple"), parse_wikilinks("[[a.md]]")


warm_up()
