"""Makes one checkpoint text that stands for many messages, and never anything else.

What a model answers is a proposal: it becomes the summary only when it has the sections of a
checkpoint. An error is raised, never stored; an answer of another kind is replaced by
`fallback_summary`, which needs no model and keeps the earlier summary inside.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

from agentscope_reme.context.fallback import fallback_summary
from agentscope_reme.context.prompts import load_prompt
from agentscope_reme.context.transcript import render_parts, shorten
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

_REQUIRED: Final = {
    "en": (("goal", "goals"), ("progress",), ("next steps", "next step")),
    "zh": (("目标",), ("进展", "进度"), ("下一步", "后续步骤", "下一步计划")),
}
"""Without these a text is no checkpoint: it would not say what to do, how far it is and what is
next. The other sections may be missing when there is nothing to say."""


class Compactor:
    """Summarises turns into a checkpoint with fixed sections.

    Args:
        chat: the model; ``None`` makes `summarise` raise `ModelRequired`.
        language: ``en`` or ``zh``, for the prompt and the headings.
        prompt_tokens: the most conversation one call is given, in estimated tokens. A longer
            conversation is folded: each part is merged into the checkpoint of the parts before it.

    Raises:
        BadInput: the language is not known.
    """

    def __init__(
        self, chat: ChatPort | None, language: str = "en", *, prompt_tokens: int = PROMPT_TOKENS
    ) -> None:
        if language not in _REQUIRED:
            raise BadInput(language, "no prompts in this language", "Use 'en' or 'zh'.")
        self._chat = chat
        self._language = language
        self._prompt_tokens = prompt_tokens

    async def summarise(
        self,
        messages: Sequence[Message],
        previous_summary: str = "",
        *,
        extra_instruction: str = "",
    ) -> str:
        """One checkpoint for the messages, with the earlier one merged in.

        Args:
            messages: the turns to replace, oldest first; without any, `previous_summary` returns.
            previous_summary: the checkpoint of everything before them, or empty.
            extra_instruction: a wish of the user, added to the end of the prompt.

        Returns:
            The model's checkpoint, or `fallback_summary` when its answer was none.

        Raises:
            ModelRequired: there is no model.
            ModelFailed: the model failed or said nothing; keep the messages and try again later.
        """
        if self._chat is None:
            raise ModelRequired("summarise")
        parts = render_parts(messages, part_tokens=self._prompt_tokens, most_parts=MOST_CALLS)
        summary = previous_summary
        for part in parts:
            answer = await self._chat.complete(self._prompt(part, summary, extra_instruction))
            text = answer.text.strip()
            if not text:
                raise ModelFailed(
                    answer.text, "the model gave an empty summary", "Nothing was changed; retry."
                )
            if not is_checkpoint(text):
                return self._without_model(messages, previous_summary)
            summary = shorten(text, LONGEST_SUMMARY)
        return summary

    def _without_model(self, messages: Sequence[Message], previous_summary: str) -> str:
        summary = fallback_summary(messages, previous_summary, language=self._language)
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


def is_checkpoint(text: str) -> bool:
    """Whether a text has the required sections, in English or in Chinese.

    Headings of any level count, whatever their case, emphasis, numbering or final colon.
    """
    found = {_heading_name(match[1]) for match in re.finditer(r"(?m)^ {0,3}#{1,6}\s+(.+)$", text)}
    return any(
        all(found.intersection(spellings) for spellings in required)
        for required in _REQUIRED.values()
    )


def _heading_name(heading: str) -> str:
    plain = unicodedata.normalize("NFKC", heading).casefold()
    plain = re.sub(r"^[\s*_#\d.)、]+", "", plain)
    return plain.rstrip(" \t*_#:").strip()


def _say(role: str, text: str) -> Message:
    return Message.from_dict({"role": role, "content": text})
