"""How large a text is for a model, without any model's vocabulary.

The constants below were fitted to counts of the byte-pair vocabulary that DashScope publishes for
Qwen (152,000 entries, close to cl100k, every digit a token of its own). Prose, code, logs, JSON and
Markdown in Latin script, Chinese, Japanese, Korean and Russian stay within 25 % of it, which the
tests hold on recorded counts. A vocabulary that groups digits counts fewer: the estimate is then
too high, which is the safe side for a budget.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from functools import cache
from typing import Final

from agentscope_reme.messages import (
    Block,
    DataBlock,
    Message,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
)

IMAGE_TOKENS: Final = 1000
"""What one image or other attachment counts, whatever its size in bytes: providers scale
pictures to a grid, and about a megapixel costs 750 to 1600 tokens at the large ones."""

LONGEST_COUNTED: Final = 400_000
"""Characters that are counted one by one; it takes about half a second for each million."""

_SAMPLES: Final = 100

MESSAGE_TOKENS: Final = 4
"""What a chat template adds around one message: role and separators."""

_LETTERS_PER_TOKEN: Final = 6.0
"""A common English word is one token; a long or rare one about one per this many letters."""

_ACCENTED_LETTERS_PER_TOKEN: Final = 3.0
"""Words of Latin script with diacritics are rarer in the vocabularies and break earlier."""

_RANDOM_LETTERS_PER_TOKEN: Final = 1.9
"""Keys, hashes and Base64 are no words."""

_SHORTEST_RANDOM: Final = 8
_RANDOM_CAPITALS: Final = (0.3, 0.9)
"""The part of capitals in random letters; in the name of a class or a method it is smaller."""

_PER_TOKEN: Final = {
    "digits": 1.0,
    "han": 1.65,
    "kana": 1.6,
    "hangul": 1.25,
    "cyrillic": 3.2,
    "arabic": 2.5,
    "other": 1.0,
    "marks": 1.6,
}
"""Characters per token of a run, by the kind of its characters."""

_RUNS: Final = (
    r"(?P<latin>[!-/:-@\[-`{-~]?[A-Za-z\u00c0-\u024f]+)"  # a mark before a word is part of it
    r"|(?P<digits>[0-9]+)"
    r"|(?P<han>[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+)"
    r"|(?P<kana>[\u3040-\u30ff]+)"
    r"|(?P<hangul>[\u1100-\u11ff\uac00-\ud7af]+)"
    r"|(?P<cyrillic>[\u0370-\u052f]+)"
    r"|(?P<arabic>[\u0590-\u07ff]+)"
    r"|(?P<blank> (?=\S)| ?\n\s*|\s+)"
    r"|(?P<marks>[!-/:-@\[-`{-~\u2000-\u206f\u3000-\u303f\uff00-\uff65]+)"
    r"|(?P<other>[^\x00-\u024f\u0370-\u07ff\u3400-\u9fff\u3040-\u30ff\uac00-\ud7af\s]+|.)"
)


def estimate_tokens(text: str) -> int:
    """About how many tokens a model sees in `text`; linear in its length.

    A text above `LONGEST_COUNTED` characters is judged by samples from all over it.

    Args:
        text: any text; 0 for an empty one.
    """
    if len(text) <= LONGEST_COUNTED:
        return math.ceil(_counted(text))
    step = len(text) / _SAMPLES
    size = LONGEST_COUNTED // _SAMPLES
    samples = [text[int(i * step) : int(i * step) + size] for i in range(_SAMPLES)]
    return math.ceil(sum(map(_counted, samples)) * len(text) / sum(map(len, samples)))


def _counted(text: str) -> float:
    return sum(_run_tokens(run) for run in _runs().finditer(text))


@cache
def _runs() -> re.Pattern[str]:
    """Compiled when something is counted: it takes 2 ms."""
    return re.compile(_RUNS, re.DOTALL)


def _run_tokens(run: re.Match[str]) -> float:
    kind = run.lastgroup or "other"
    length = run.end() - run.start()
    if kind == "blank":
        return 0.0 if run[0] == " " else 1.0  # one blank belongs to the word after it
    if kind == "latin":
        return max(1.0, length / _letters_per_token(run[0]))
    return max(1.0, length / _PER_TOKEN[kind])


def _letters_per_token(word: str) -> float:
    if not word.isascii():
        return _ACCENTED_LETTERS_PER_TOKEN
    if len(word) < _SHORTEST_RANDOM or word.islower():
        return _LETTERS_PER_TOKEN
    capitals = sum(map(str.isupper, word)) / len(word)
    is_random = _RANDOM_CAPITALS[0] <= capitals <= _RANDOM_CAPITALS[1]
    return _RANDOM_LETTERS_PER_TOKEN if is_random else _LETTERS_PER_TOKEN


def estimate_message_tokens(message: Message) -> int:
    """About how many tokens one message costs, its template included.

    An image counts `IMAGE_TOKENS` whether it is Base64, a URL or a path.
    """
    blocks = sum(_block_tokens(block) for block in message.blocks)
    return MESSAGE_TOKENS + estimate_tokens(message.name) + blocks


def estimate_messages_tokens(messages: Iterable[Message]) -> int:
    """The sum over several messages."""
    return sum(estimate_message_tokens(message) for message in messages)


def _block_tokens(block: Block) -> int:
    match block:
        case TextBlock() | ThinkingBlock():
            return estimate_tokens(block.text)
        case DataBlock():
            return IMAGE_TOKENS
        case ToolCallBlock():
            return estimate_tokens(block.name) + estimate_tokens(block.input) + MESSAGE_TOKENS
        case ToolResultBlock():
            inside = sum(_block_tokens(part) for part in block.output)
            return estimate_tokens(block.name) + inside + estimate_tokens(block.omitted or "")
