"""What every working memory of this library does, whatever stands behind it.

`ReMeMemory` and `CoPawInMemoryMemory` are built on it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from typing import Any, Final

from agentscope.memory import InMemoryMemory
from agentscope.message import Msg

from agentscope_reme.agentscope_v1.counting import WindowMeter
from agentscope_reme.agentscope_v1.marks import COMPRESSED, OURS, ours
from agentscope_reme.agentscope_v1.token_report import history_text, token_report
from agentscope_reme.quoting import defuse

_WRAPPED: Final = {
    "en": "<previous-summary>\n{summary}\n</previous-summary>\n"
    "This summary stands for the earlier part of this conversation. "
    "Go on from it as if you still saw that part.",
    "zh": "<previous-summary>\n{summary}\n</previous-summary>\n"
    "以上摘要代表本次对话中较早的部分。请像仍能看到那部分对话一样继续。",
}


class WindowMemory(InMemoryMemory):
    """`InMemoryMemory` that hides what was compressed and knows how large it is.

    Compressed messages are hidden from every view that does not ask for them by
    ``mark="compressed"``: the reasoning loop of AgentScope asks without excluding anything. The
    summary stands in front, once. The saved state is that of `InMemoryMemory`, so session files of
    either load into the other. It has no length: AgentScope replaces a memory that is falsy.

    Args:
        token_counter: as for `WindowMeter`; sizes are estimated without one.
        max_input_length: the model's window in tokens; 0 when it is not known.
        language: ``en`` or ``zh``, for the words around the summary.
    """

    def __init__(
        self, *, token_counter: Any = None, max_input_length: int = 0, language: str = "en"
    ) -> None:
        super().__init__()
        self.max_input_length = max_input_length
        self._language = language if language in _WRAPPED else "en"
        self._meter = WindowMeter(token_counter)

    @property
    def meter(self) -> WindowMeter:
        """What counts the tokens of this window; it keeps the sizes it found."""
        return self._meter

    async def get_memory(
        self,
        mark: str | None = None,
        exclude_mark: str | None = COMPRESSED,
        prepend_summary: bool = True,
        **kwargs: Any,
    ) -> list[Msg]:
        """The visible messages, oldest first.

        Args:
            mark: only messages with this mark; ``"compressed"`` shows the hidden ones.
            exclude_mark: not messages with this mark.
            prepend_summary: begin with the summary, when there is one.
            kwargs: taken for compatibility and passed on.

        Raises:
            TypeError: a mark is not a string.
        """
        if mark == COMPRESSED == exclude_mark:
            exclude_mark = None  # who asks for the hidden ones does not mean the default
        found = await super().get_memory(mark, exclude_mark, prepend_summary=False, **kwargs)
        if mark != COMPRESSED:
            hidden = {msg.id for msg, marks in self.content if COMPRESSED in marks}
            found = [msg for msg in found if msg.id not in hidden]
        return [*self._summary_message(), *found] if prepend_summary else found

    async def add(
        self,
        memories: Msg | list[Msg] | None,
        marks: str | list[str] | None = None,
        allow_duplicates: bool = False,
        **kwargs: Any,
    ) -> None:
        """Add messages; one that is there already, twice in the list, or our own summary is not.

        Raises:
            TypeError: the marks are neither text nor a list of texts.
        """
        given = [memories] if isinstance(memories, Msg) else memories or []
        fresh = [msg for msg in given if (msg.metadata or {}).get(OURS) != "summary"]
        if not allow_duplicates:
            first: dict[str, Msg] = {}
            for msg in fresh:
                first.setdefault(msg.id, msg)
            fresh = list(first.values())
        await super().add(fresh, marks, allow_duplicates, **kwargs)

    def get_compressed_summary(self) -> str:
        """What stands for the compressed messages; empty when nothing does."""
        return self._compressed_summary

    def clear_compressed_summary(self) -> None:
        """Forget the summary; messages stay as they are."""
        self._compressed_summary = ""

    def clear_content(self) -> None:
        """Forget every message; the summary stays."""
        self.content.clear()

    async def mark_messages_compressed(self, messages: Sequence[Msg]) -> int:
        """Hide messages; returns how many were not hidden before."""
        ids = [msg.id for msg in messages]
        return int(await self.update_messages_mark(COMPRESSED, msg_ids=ids))

    async def estimate_tokens(self, max_input_length: int | None = None) -> dict[str, Any]:
        """The size of the visible window with its summary; the keys are those of `token_report`.

        Args:
            max_input_length: the window to compare with; without it that of the memory, or else
                the threshold above which it is compacted.
        """
        return await token_report(
            self._meter,
            await self.get_memory(prepend_summary=False),
            summary=self.shown(self._compressed_summary),
            max_input_length=self._limit if max_input_length is None else max_input_length,
        )

    async def get_history_str(self, max_input_length: int | None = None) -> str:
        """The visible window as Markdown, with its size in tokens.

        Args:
            max_input_length: as for `estimate_tokens`.
        """
        return history_text(await self.estimate_tokens(max_input_length))

    @property
    def _limit(self) -> int:
        """How many tokens the window may have; 0 when it is not known."""
        return self.max_input_length

    def load_state_dict(self, state_dict: dict[str, Any], strict: bool = True) -> None:
        """Take over a saved state: of this class, or of `InMemoryMemory` of any age.

        Entries are messages with their marks, or bare messages. A state that cannot be taken over
        leaves everything as it was.

        Raises:
            KeyError: `strict`, and there is no ``content``.
            ValueError: an entry is neither a message nor a message with its marks.
        """
        if strict and "content" not in state_dict:
            raise KeyError("content")
        before = self.content, self._compressed_summary
        try:
            super().load_state_dict(state_dict, strict)
            self.content = [(msg, _marks(marks)) for msg, marks in self.content]
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            self.content, self._compressed_summary = before
            raise ValueError(f"this is no saved window: {error!r}") from error
        self._compressed_summary = self._compressed_summary or ""

    def let_summary_stand(self, summary: str, ids: Collection[str]) -> int:
        """Let a summary stand for messages: both change in one go; returns how many were hidden."""
        self._compressed_summary = summary
        hidden = 0
        for msg, marks in self.content:
            if msg.id in ids and COMPRESSED not in marks:
                marks.append(COMPRESSED)
                hidden += 1
        return hidden

    def shown(self, summary: str) -> str:
        """A summary as the model sees it; empty when there is none."""
        if not summary:
            return ""
        return _WRAPPED[self._language].format(summary=defuse(summary))

    def _summary_message(self) -> Sequence[Msg]:
        shown = self.shown(self._compressed_summary)
        if not shown:
            return ()
        msg = Msg("user", shown, "user", metadata=ours("summary"))
        digest = hashlib.sha256(shown.encode("utf-8", "surrogatepass")).hexdigest()
        msg.id = f"summary-{digest[:16]}"
        return (msg,)


def _marks(given: Any) -> list[str]:
    if given is None or isinstance(given, str):
        return [given] if given else []
    return [str(mark) for mark in given]
