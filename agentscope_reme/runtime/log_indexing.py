"""Indexes what was appended to session logs while the reply that said it goes on."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Final

from agentscope_reme.errors import Closed
from agentscope_reme.files.growing_file import Extension
from agentscope_reme.vault.vault import Vault

_NAME: Final = "index"
_MOST_KEPT_BYTES: Final = 1 << 20
"""More than this of one log is read from the disk again instead of being kept until then."""
_Grown = dict[str, Extension | None]


class LogIndexing:
    """A reply waits for its words to be durable, and whoever reads the index waits for the rest.

    What arrives while the index is at work is brought in together. All methods belong to one event
    loop.

    Args:
        vault: whose index follows the logs.
        hurry: entered around the work: a lock that a stopped process holds is given up soon, and
            the log is indexed later.
        on_failure: called with a name and an exception; must not raise.
        after: called in the loop when something was brought in.
    """

    def __init__(
        self,
        vault: Vault,
        *,
        hurry: Callable[[], AbstractContextManager[None]],
        on_failure: Callable[[str, BaseException], None],
        after: Callable[[], None],
    ) -> None:
        self._vault: Final = vault
        self._hurry: Final = hurry
        self._on_failure: Final = on_failure
        self._after: Final = after
        self._waiting: _Grown = {}
        self._last: asyncio.Task[None] | None = None

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
            self._last = asyncio.create_task(self._follow(self._last), name="index: logs")
        known = path in self._waiting
        self._waiting[path] = _joined(self._waiting[path], written) if known else written

    async def drain(self, deadline_seconds: float | None = None) -> bool:
        """Wait until the index shows what was appended before this call.

        Args:
            deadline_seconds: how long to wait; without it as long as the work takes.

        Returns:
            ``False`` when the deadline came first.
        """
        last = self._last
        if last is None or last.done():
            return True
        limit = None if deadline_seconds is None else max(0.0, deadline_seconds)
        done, _ = await asyncio.wait({last}, timeout=limit)
        return bool(done)

    async def _follow(self, earlier: asyncio.Task[None] | None) -> None:
        if earlier is not None and not earlier.done():
            await asyncio.wait({earlier})
        grown, self._waiting = self._waiting, {}
        try:
            with self._hurry():
                faults = await asyncio.to_thread(self._bring_in, grown)
        except RuntimeError as error:  # there are no threads any more: this program is ending
            faults = [error]
        for fault in faults:
            self._on_failure(_NAME, fault)
        with contextlib.suppress(Closed):
            self._after()

    def _bring_in(self, grown: _Grown) -> list[Exception]:
        faults = list[Exception]()
        for path, written in grown.items():
            try:
                self._vault.log_changed(path, written)
            except Closed:  # the next start finds what is new
                break
            except Exception as error:  # noqa: BLE001 - a background task is a process edge
                error.add_note(f"(log {path!r})")
                faults.append(error)
        return faults


def _joined(first: Extension | None, second: Extension | None) -> Extension | None:
    """Two appends as one; ``None`` when others wrote between them, or it would be too much."""
    if first is None or second is None or second.before != first.after:
        return None
    if len(first.data) + len(second.data) > _MOST_KEPT_BYTES:
        return None
    return Extension(first.before, second.after, first.data + second.data)
