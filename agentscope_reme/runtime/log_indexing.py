"""Indexes what was appended to session logs while the reply that said it goes on."""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Final

from agentscope_reme.errors import Closed, StorageFailed
from agentscope_reme.files.growing_file import Extension
from agentscope_reme.vault.vault import Vault

_NAME: Final = "index"
_MOST_KEPT_BYTES: Final = 1 << 20
"""More than this of one log is read from the disk again instead of being kept until then."""
_AT_ONCE_SECONDS: Final = 0.05
"""How long a reader waits for a lock that kept a log out of the index before: a thread that is just
at work has finished by then, and a process that is stopped costs no more."""
_Grown = dict[str, Extension | None]


class LogIndexing:
    """A reply waits for its words to be durable, and whoever reads the index waits for the rest.

    What arrives while the index is at work is brought in together. What it could not take is tried
    again by the next append and the next reader. All methods belong to one event loop.

    Args:
        vault: whose index follows the logs.
        at_most: limits how long, in seconds, all locks taken inside are waited for.
        patience_seconds: this long from the first append that waits; a log that a lock kept out by
            then is indexed later.
        on_failure: called with a name and an exception; must not raise.
        after: called in the loop when something was brought in.
    """

    def __init__(
        self,
        vault: Vault,
        *,
        at_most: Callable[[float], AbstractContextManager[None]],
        patience_seconds: float,
        on_failure: Callable[[str, BaseException], None],
        after: Callable[[], None],
    ) -> None:
        self._vault: Final = vault
        self._at_most: Final = at_most
        self._patience: Final = patience_seconds
        self._on_failure: Final = on_failure
        self._after: Final = after
        self._waiting: _Grown = {}
        self._last: asyncio.Task[None] | None = None
        self._is_behind = False

    @property
    def is_behind(self) -> bool:
        """Whether the index could not take something, though it may later."""
        return self._is_behind

    @property
    def queued(self) -> int:
        """1 while something waits or is brought in, else 0."""
        return int(self._last is not None and not self._last.done())

    def soon(self, path: str, written: Extension | None) -> None:
        """Index a log after an append.

        Args:
            path: the log.
            written: the file around the append, as far as it is known.
        """
        if not self._waiting or self._last is None or self._last.done():  # or it was cancelled
            self._begin(self._patience)
        known = path in self._waiting
        self._waiting[path] = _joined(self._waiting[path], written) if known else written

    async def drain(self, deadline_seconds: float | None = None) -> bool:
        """Wait until the index shows what was appended before this call, as far as it can.

        Args:
            deadline_seconds: how long to wait; without it as long as the work takes.

        Returns:
            ``False`` when the deadline came first.
        """
        end = math.inf if deadline_seconds is None else time.monotonic() + deadline_seconds
        while (task := self._work()) is not None:
            left = None if end == math.inf else max(0.0, end - time.monotonic())
            done, _ = await asyncio.wait({task}, timeout=left)
            if not done or not task.cancelled():
                return bool(done)
        return True

    def _work(self) -> asyncio.Task[None] | None:
        """What is at work, or is begun now: on what somebody cancelled, or the index refused."""
        if self._last is not None and not self._last.done():
            return self._last
        return self._begin(_AT_ONCE_SECONDS) if self._waiting or self._is_behind else None

    def _begin(self, patience: float) -> asyncio.Task[None]:
        follow = self._follow(self._last, time.monotonic() + patience)
        self._last = asyncio.create_task(follow, name="index: logs")
        return self._last

    async def _follow(self, earlier: asyncio.Task[None] | None, until: float) -> None:
        if earlier is not None and not earlier.done():
            await asyncio.wait({earlier})
        grown, self._waiting = self._waiting, {}
        try:
            faults = await asyncio.to_thread(self._bring_in, grown, until)
        except asyncio.CancelledError:  # the thread goes on, and nobody can wait for it any more
            self._waiting |= dict.fromkeys(grown)
            raise
        except RuntimeError as error:  # there are no threads any more: this program is ending
            self._waiting |= dict.fromkeys(grown)
            faults = [error]
        for fault in faults:
            self._on_failure(_NAME, fault)
        with self._at_most(math.inf), contextlib.suppress(Closed):
            self._after()  # what it begins is in no hurry, as the recording was

    def _bring_in(self, grown: _Grown, until: float) -> list[Exception]:
        with self._at_most(until - time.monotonic()):
            return self._bring_in_soon(grown)

    def _bring_in_soon(self, grown: _Grown) -> list[Exception]:
        faults = list[Exception]()
        followed = not self._is_behind
        for path, written in grown.items():
            try:
                followed = self._vault.log_changed(path, written) and followed
            except Closed:  # the next start finds what is new
                return faults
            except Exception as error:  # noqa: BLE001 - a background task is a process edge
                error.add_note(f"(log {path!r})")
                faults.append(error)
        self._is_behind = not followed and self._is_still_behind(faults)
        return faults

    def _is_still_behind(self, faults: list[Exception]) -> bool:
        try:
            return not self._vault.retry()
        except Closed:
            return False
        except StorageFailed:  # the paths are in `dirty`, as before
            return True
        except Exception as error:  # noqa: BLE001 - a background task is a process edge
            faults.append(error)
            return True


def _joined(first: Extension | None, second: Extension | None) -> Extension | None:
    """Two appends as one; ``None`` when others wrote between them, or it would be too much."""
    if first is None or second is None or second.before != first.after:
        return None
    if len(first.data) + len(second.data) > _MOST_KEPT_BYTES:
        return None
    return Extension(first.before, second.after, first.data + second.data)
