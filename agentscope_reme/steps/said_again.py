"""Which lines of a conversation say nothing that a distilled passage does not say already."""

from __future__ import annotations

import re
from typing import Final

from agentscope_reme.schema import SearchHit
from agentscope_reme.store.english_stem import english_stem
from agentscope_reme.store.stop_words import FUNCTION_WORDS, HAN_PARTICLES

_SPEAKER: Final = re.compile(r"\[[^\]\n]*\] ?")
_WORD: Final = re.compile(r"[a-z0-9_]+|[^\W_a-z]")
_FILLERS: Final = (FUNCTION_WORDS | HAN_PARTICLES) - {"no", "not", "t"}
_MOST: Final = 0.8
"""A card puts things in the third person and in few words of its own."""
_SESSIONS: Final = "session/"


def is_conversation(hit: SearchHit) -> bool:
    """Whether a hit stands in what was said, not in what was made of it."""
    return hit.path.startswith(_SESSIONS)


def says_it_all(card: SearchHit, conversation: SearchHit) -> bool:
    """Whether every line of a conversation is in a distilled passage: its numbers, most words.

    Words of denial are among those that must be there: "not", "no", "never", 不, 没.

    Args:
        card: a passage of a card or node.
        conversation: a passage of a log, a speaker before each turn.
    """
    known = words_of(card.text)
    lines = [words_of(_SPEAKER.sub("", line, count=1)) for line in conversation.text.splitlines()]
    return any(lines) and all(_is_in(words, known) for words in lines)


def words_of(text: str) -> set[str]:
    """The telling words of a text by their stems; Han by character."""
    words = (word for word in _WORD.findall(text.casefold()) if word not in _FILLERS)
    return {english_stem(word) if word.isascii() and word.isalpha() else word for word in words}


def _is_in(words: set[str], known: set[str]) -> bool:
    lost = words - known
    if any(word in _TELLING or any(map(str.isdigit, word)) for word in lost):
        return False
    return len(lost) <= (1 - _MOST) * len(words)


_TELLING: Final = words_of("not no never nor without t 不 没 沒 未 无 無 别 別")
