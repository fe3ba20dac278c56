"""Makes one checkpoint text that stands for many messages, and never anything else.

What a model answers is a proposal: it becomes the summary only when it has the sections of a
checkpoint. An error is raised, never stored; an answer of another kind is replaced by
`fallback_summary`, which needs no model and keeps the earlier summary inside.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from agentscope_reme.context.checkpoint import (
    REQUIRED,
    bare_answer,
    carried,
    is_checkpoint,
    note_of,
    split_notes,
    with_notes,
)
from agentscope_reme.context.fallback import fallback_summary
from agentscope_reme.context.prompts import load_prompt
from agentscope_reme.context.shortening import shorten
from agentscope_reme.context.transcript import Transcript, render
from agentscope_reme.errors import BadInput, ModelFailed, ModelRequired
from agentscope_reme.messages import Message
from agentscope_reme.ports import ChatPort
from agentscope_reme.quoting import defuse

PROMPT_TOKENS: Final = 24_000
"""The most conversation one call is given, in estimated tokens."""

MOST_CALLS: Final = 6
"""The most model calls one summary may take; longer conversations are quoted more shortly."""

LONGEST_SUMMARY: Final = 16_000
"""The most characters a checkpoint keeps, about 4,000 tokens of English."""

_WORDS: Final = 900

_LEFT_OUT: Final = {
    "en": ("{count} turns between {first} and {last}", "the middle of {count} long texts"),
    "zh": ("{first} 至 {last} 之间的 {count} 条消息", "{count} 段长文本的中间部分"),
}
_ARCHIVED: Final = {"en": "; archived in {path}", "zh": "；已归档于 {path}"}


class Compactor:
    """Summarises turns into a checkpoint with fixed sections.

    Args:
        chat: the model; ``None`` makes `summarise` raise `ModelRequired`.
        language: ``en`` or ``zh``, for the prompt and the headings.
        prompt_tokens: the most conversation one call is given, in estimated tokens. A longer
            conversation is folded: each part is merged into the checkpoint of the parts before it.
        lacks: why a model that was given is no `chat`, as a clause, for `ModelRequired`.

    Raises:
        BadInput: the language is not known.
    """

    def __init__(
        self,
        chat: ChatPort | None,
        language: str = "en",
        *,
        prompt_tokens: int = PROMPT_TOKENS,
        lacks: str = "",
    ) -> None:
        if language not in REQUIRED:
            raise BadInput(language, "no prompts in this language", "Use 'en' or 'zh'.")
        self._chat = chat
        self._language = language
        self._prompt_tokens = prompt_tokens
        self._lacks = lacks

    async def summarise(
        self,
        messages: Sequence[Message],
        previous_summary: str = "",
        *,
        extra_instruction: str = "",
        archived: str = "",
    ) -> str:
        """One checkpoint for the messages, with the earlier one merged in.

        What no call could be given, because there is too much of it, is named in a note at the
        end; notes of earlier summaries stay.

        Args:
            messages: the turns to replace, oldest first; without any, `previous_summary` returns.
            previous_summary: the checkpoint of everything before them, or empty.
            extra_instruction: a wish of the user, added to the end of the prompt.
            archived: where the messages are kept in full, for the note.

        Returns:
            The model's checkpoint, or `fallback_summary` when its answer was none.

        Raises:
            ModelRequired: there is no model.
            ModelFailed: the model failed or said nothing; keep the messages and try again later.
        """
        if self._chat is None:
            raise ModelRequired("summarise", lacks=self._lacks)
        transcript = await asyncio.to_thread(
            render, messages, part_tokens=self._prompt_tokens, most_parts=MOST_CALLS
        )
        if not transcript.parts:
            return previous_summary
        summary, notes = split_notes(previous_summary)
        earlier = summary
        for part in transcript.parts:
            answer = await self._chat.complete(self._prompt(part.text, summary, extra_instruction))
            text = bare_answer(answer.text)
            if not text:
                raise ModelFailed(
                    answer.text, "the model gave an empty summary", "Nothing was changed; retry."
                )
            if not is_checkpoint(text):
                return with_notes(self._without_model(messages[part.first :], summary), notes)
            summary = shorten(text, LONGEST_SUMMARY)
        summary = carried(earlier, summary, self._language)
        return with_notes(summary, [*notes, *self._notes(transcript, messages, archived)])

    def _notes(
        self, transcript: Transcript, messages: Sequence[Message], archived: str
    ) -> list[str]:
        turns, texts = _LEFT_OUT[self._language]
        gone = [messages[place] for place in transcript.left_out]
        what = []
        if gone:
            first, last = _when(gone[0]), _when(gone[-1])
            what.append(turns.format(count=len(gone), first=first, last=last))
        if transcript.shortened:
            what.append(texts.format(count=transcript.shortened))
        if not what:
            return []
        where = _ARCHIVED[self._language].format(path=archived) if archived else ""
        return [
            note_of(("，" if self._language == "zh" else ", ").join(what) + where, self._language)
        ]

    def _without_model(self, messages: Sequence[Message], previous_summary: str) -> str:
        summary = fallback_summary(
            messages,
            previous_summary,
            language=self._language,
            longest=LONGEST_SUMMARY + 8_000,
        )
        if not summary:
            raise ModelFailed(
                "", "the model gave no checkpoint and nothing can be quoted", "Retry later."
            )
        return summary

    def _prompt(self, conversation: str, summary: str, extra: str) -> list[Message]:
        previous = ""
        if summary.strip():
            quoted = defuse(shorten(summary.strip(), LONGEST_SUMMARY))
            previous = self._text("previous", summary=quoted) + "\n\n"
        wish = f"\n\n{shorten(extra.strip(), LONGEST_SUMMARY)}" if extra.strip() else ""
        task = self._text(
            "compact",
            previous=previous,
            conversation=conversation,
            words=str(_WORDS),
            extra=wish,
        )
        return [_say("system", self._text("compact_system")), _say("user", task)]

    def _text(self, name: str, **values: str) -> str:
        return load_prompt(name, self._language).substitute(values)


def _when(message: Message) -> str:
    """How a turn is told apart: its time, or else its first words."""
    if message.created_at is not None:
        return message.created_at.isoformat(sep=" ", timespec="minutes")
    return message.created_at_text or f"“{' '.join(message.text.split())[:40]}”"


def _say(role: str, text: str) -> Message:
    return Message.from_dict({"role": role, "content": text})
