"""A process that changes files at random and says so after each acknowledged change.

Run with a workspace folder and a seed. Before a change it prints what it is about to do, after it
what is acknowledged; the parent kills it at a moment of its choosing.
"""

from __future__ import annotations

import random
import sys

from agentscope_reme.files.changes import Change, Delete, Write
from agentscope_reme.schema import content_hash
from tests.vault.crash_house import open_vault

FOLDERS = ("digest/wiki", "digest/personal", "daily/2026-06-20")


def main(root: str, seed: int) -> None:
    chance = random.Random(seed)
    vault = open_vault(root)
    vault.scan()
    state = {path: vault.read(path).decode() for path in vault.paths()}
    say("ready", state)
    number = 0
    while True:
        number += 1
        before = dict(state)
        step = plan(chance, state, f"{seed}-{number}")
        say("trying", step.after)
        step.run(vault)
        state = {path: vault.read(path).decode() for path in vault.paths()}
        assert state == step.after, (before, step.after, state)
        say("done", state)


class Step:
    """One change: how the files look after it, and the call that makes it."""

    def __init__(self, after, run) -> None:  # type: ignore[no-untyped-def]
        self.after = after
        self.run = run


def plan(chance: random.Random, state: dict[str, str], tag: str) -> Step:
    kind = chance.choice(["write", "write", "edit", "move", "many", "delete", "undo"])
    some = sorted(state)
    if kind in ("edit", "move", "delete", "undo") and not some:
        kind = "write"
    fresh = f"{chance.choice(FOLDERS)}/n{chance.randrange(12)}.md"
    text = f"{tag} [[{chance.choice([*some, fresh])}]]" + " filler" * chance.randrange(400)
    match kind:
        case "write":
            return written(state, [Write(fresh, text.encode())])
        case "edit":
            return written(state, [Write(chance.choice(some), text.encode())])
        case "delete":
            return written(state, [Delete(chance.choice(some))])
        case "many":
            gone = [Delete(path) for path in chance.sample(some, min(2, len(some)))]
            taken = {change.path for change in gone}
            names = [f"{folder}/m{chance.randrange(6)}.md" for folder in FOLDERS]
            new: list[Change] = [Write(n, text.encode()) for n in names if n not in taken]
            return written(state, [*new, *gone])
        case "undo":
            return undone(state, chance.choice(some), text)
    return moved(state, chance.choice(some), f"{chance.choice(FOLDERS)}/moved-{tag}.md")


def written(state: dict[str, str], changes: list[Change]) -> Step:
    after = dict(state)
    for change in changes:
        if isinstance(change, Write):
            after[change.path] = change.data.decode()
        else:
            after.pop(change.path)
    return Step(after, lambda vault: vault.commit(changes, actor="child", operation="write"))


def moved(state: dict[str, str], src: str, dst: str) -> Step:
    links = {path: text.replace(f"[[{src}]]", f"[[{dst}]]") for path, text in state.items()}
    after = {dst if path == src else path: text for path, text in links.items()}
    return Step(after, lambda vault: vault.move(src, dst, actor="child"))


def undone(state: dict[str, str], path: str, text: str) -> Step:
    """A write that is taken back: in the end nothing has changed, in between one file has."""

    def run(vault) -> None:  # type: ignore[no-untyped-def]
        write = [Write(path, text.encode())]
        change_id = vault.commit(write, actor="child", operation="write").change_id
        vault.undo(change_id, actor="child")

    return Step(dict(state), run)


def say(word: str, state: dict[str, str]) -> None:
    print(repr((word, digested(state))), flush=True)


def digested(state: dict[str, str]) -> dict[str, str]:
    """Short enough that a full pipe never holds the child up."""
    return {path: content_hash(text.encode())[:12] for path, text in state.items()}


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
