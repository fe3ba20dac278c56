"""Settles what a dream that died had prepared: it was committed, or it never happened."""

from __future__ import annotations

from typing import Final

from agentscope_reme.files.dream_progress import Prepared
from agentscope_reme.steps.dream.run import ACTOR, DreamRun
from agentscope_reme.vault.vault import Vault

_FURTHEST: Final = 100_000


def newest_change(vault: Vault) -> str:
    """The id of the newest change of the journal; empty when there is none."""
    newest = vault.history(limit=1)
    return newest[0].change_id if newest else ""


def settle_prepared(vault: Vault, run: DreamRun) -> None:
    """Bring the checkpoint in step with the journal before anything is built on it.

    Raises:
        StorageFailed: an unfinished change or the checkpoint could not be written.
    """
    prepared = run.state.prepared
    if prepared is None:
        return
    if run.dry_run:
        if was_committed(vault, prepared):
            for name in prepared.outcome.settled:
                run.state.units.pop(name, None)
        run.state.prepared = None
        return
    vault.commit([], actor=ACTOR, operation=ACTOR)  # finishes what a dead process began
    if was_committed(vault, prepared):
        run.checkpoint.finish(prepared.outcome)
    else:
        run.checkpoint.abandon()
    run.state = run.checkpoint.load()


def was_committed(vault: Vault, prepared: Prepared) -> bool:
    """Whether the journal holds the commit that was announced."""
    for record in vault.history(limit=_FURTHEST):
        if record.change_id == prepared.after_change:
            return False
        ours = (record.actor, record.operation, record.state) == (ACTOR, ACTOR, "done")
        if ours and sorted(record.paths) == sorted(prepared.paths):
            return True
    return False
