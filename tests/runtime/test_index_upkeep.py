"""Damage is repaired with patience, whoever found it, and is waited for from when it was found."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import cast

from agentscope_reme.files.locks import WorkspaceLocks, seconds_left
from agentscope_reme.results import IndexResult
from agentscope_reme.runtime import FailureLog
from agentscope_reme.runtime.index_upkeep import IndexUpkeep
from agentscope_reme.store.records import StoreCondition
from agentscope_reme.vault.vault import Vault
from agentscope_reme.workspace import Workspace


class Index:
    """Stands where a vault, its store and the care of its index stand."""

    def __init__(self) -> None:
        self.store = self.index = self
        self.on_lost: Callable[[], None] | None = None
        self.left = list[float]()
        self.gate = threading.Semaphore(1)

    def condition(self) -> StoreCondition:
        return StoreCondition()

    def bring_in_step(self) -> IndexResult:
        assert self.gate.acquire(timeout=10)
        self.left.append(seconds_left(60))
        return IndexResult()

    def find_damage(self) -> None:
        assert self.on_lost is not None
        self.on_lost()


def upkeep(index: Index, patience: float) -> IndexUpkeep:
    return IndexUpkeep(
        cast("Vault", index),
        patience_seconds=patience,
        on_failure=FailureLog().report,
        after=lambda: None,
    )


async def test_a_repair_is_in_no_hurry_when_a_recording_found_the_damage(tmp_path: Path) -> None:
    index = Index()
    index.gate.release()
    care = upkeep(index, 10)
    await care.start()
    before = care.repaired
    with WorkspaceLocks(Workspace(tmp_path)).at_most(0):
        await asyncio.to_thread(index.find_damage)
    assert await care.whole_again(since=before)
    assert index.left == [60, 60]
    assert care.repaired == before + 1
    await care.close()


async def test_who_comes_while_damage_is_repaired_waits_as_well() -> None:
    index = Index()
    care = upkeep(index, 10)
    await care.start()
    await asyncio.to_thread(index.find_damage)
    before = care.repaired
    waiting = asyncio.create_task(care.whole_again(since=before))
    await asyncio.sleep(0)
    assert not waiting.done()
    index.gate.release()
    assert await waiting
    assert not await care.whole_again(since=care.repaired)
    await care.close()


async def test_nobody_waits_for_a_repair_that_takes_longer_than_patience() -> None:
    index = Index()
    care = upkeep(index, 0)
    await care.start()
    await care.drain(10)
    before = care.repaired
    await asyncio.to_thread(index.find_damage)
    async with asyncio.timeout(5):
        assert await care.whole_again(since=before)
    assert care.repaired == before
    index.gate.release()
    await care.close()
    assert care.repaired == before + 1
