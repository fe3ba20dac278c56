"""What the user of a 1.x agent is told about a compaction.

The first line of each is the wording CoPaw's users and interfaces know.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from agentscope.message import Msg

from agentscope_reme.agentscope_v1.guard import reporting
from agentscope_reme.context.shortening import shorten
from agentscope_reme.errors import BadInput
from agentscope_reme.ports import MemoryService

if TYPE_CHECKING:
    from agentscope_reme.agentscope_v1.shrinking import Limits
    from agentscope_reme.agentscope_v1.window import Outcome

STARTED: Final = "🔄 Context compaction started..."
COMPLETED: Final = "✅ Context compaction completed"
FAILED: Final = "⚠️ Context compaction failed."
SKIPPED: Final = "✅ Context compaction skipped"

_SHOWN_SUMMARY: Final = 2_000
_KEPT: Final = {
    "en": "Kept {kept} messages as they are (about {after:,} tokens, {before:,} before). "
    "{compacted} older ones, kept in full in {archive}, are now this summary:\n\n{summary}",
    "zh": "保留 {kept} 条消息原文（约 {after:,} 个 token，之前 {before:,} 个）。"
    "较早的 {compacted} 条完整保存在 {archive}，现由以下摘要代替：\n\n{summary}",
}


class CompactionStatus:
    """Tells the user of an agent how a compaction goes; never breaks the reply.

    Args:
        agent: who prints.
        reme: whose `status()` shows what could not be printed.
        language: ``zh`` for Chinese details; English otherwise.
        silent: print nothing.
    """

    def __init__(
        self, agent: Any, reme: MemoryService, *, language: str = "en", silent: bool = False
    ) -> None:
        self._agent = agent
        self._reme = reme
        self._details = _KEPT.get(language, _KEPT["en"])
        self._silent = silent

    async def started(self) -> None:
        """A summary is about to be made."""
        await self._print(STARTED)

    async def completed(self, done: Outcome) -> None:
        """It stands for the older messages now; what was kept is shown."""
        await self._print(COMPLETED)
        await self._print(
            self._details.format(
                kept=done.kept,
                before=done.before,
                after=done.after,
                compacted=done.compacted,
                archive=done.archive or "-",
                summary=shorten(done.summary, _SHOWN_SUMMARY),
            )
        )

    async def failed(self) -> None:
        """Nothing was changed."""
        await self._print(FAILED)

    async def skipped(self) -> None:
        """It was needed, and is switched off."""
        await self._print(SKIPPED)

    async def _print(self, text: str) -> None:
        if self._silent:
            return
        with reporting(self._reme, "hook.compaction.print"):
            await self._agent.print(Msg(self._agent.name, text, "assistant"), True)


def too_large(done: Outcome | None, limits: Limits) -> BadInput:
    """The report of a window that stays above its threshold whatever leaves it."""
    size = f"about {done.after:,} tokens" if done is not None else "larger than its threshold"
    return BadInput(
        limits.threshold,
        f"the window is {size} after everything that may leave it has left, of which system "
        f"prompt and tools take about {limits.overhead:,}",
        "Shorten the system prompt, use fewer tools, or raise the threshold.",
    )
