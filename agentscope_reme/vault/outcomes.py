"""What the vault answers: a commit that was made, and what opening had to repair."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from agentscope_reme.schema import FileLink
from agentscope_reme.vault.committing import Settled


@dataclass(frozen=True, slots=True)
class Commit:
    """One acknowledged change.

    Attributes:
        change_id: names it in the journal; empty when everything already was as wanted.
        hashes: the content hash of every path it touched; ``None`` where the file is gone.
        created: paths where no file stood before.
        indexed: false when the files are safe but the index could not follow yet.
        touched: files rewritten because they linked to what was moved.
        inbound: links from other files to what was deleted or moved, as they were before.
    """

    change_id: str
    hashes: Mapping[str, str | None] = field(default_factory=dict)
    created: frozenset[str] = frozenset()
    indexed: bool = True
    touched: tuple[str, ...] = ()
    inbound: tuple[FileLink, ...] = ()


@dataclass(frozen=True, slots=True)
class Recovery:
    """What opening a workspace found of an unfinished change.

    Attributes:
        completed: the id of a change over several files that was carried on to its end.
        aborted: the id of a change that was journaled but never made.
        left_alone: paths that somebody else changed meanwhile; they stayed as they are.
        temporaries: how many unfinished files were swept away.
        notices: all of that in words, for `status()`.
    """

    completed: str | None = None
    aborted: str | None = None
    left_alone: tuple[str, ...] = ()
    temporaries: int = 0
    notices: tuple[str, ...] = ()


def recovery_of(settled: Settled | None, temporaries: int, notices: list[str]) -> Recovery:
    """What opening found, with its notices put into words."""
    if settled is None:
        return Recovery(temporaries=temporaries, notices=tuple(notices))
    change_id = settled.entry.change_id
    if settled.unusable:
        notices.append(
            f"The journal speaks of a change {change_id} that cannot be carried out and was left "
            f"alone: {settled.unusable}"
        )
    if settled.completed:
        notices.append(f"Change {change_id} was interrupted and has been completed.")
    notices += [
        f"{path} was changed by somebody else during change {change_id} and was left alone."
        for path in settled.left_alone
    ]
    return Recovery(
        change_id if settled.completed else None,
        change_id if settled.aborted else None,
        settled.left_alone,
        temporaries,
        tuple(notices),
    )
