"""Secrets in text: found by pattern, taken out, and named without being shown."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from agentscope_reme.errors import BadInput

PATTERNS: Final[Mapping[str, str]] = {
    "private key": (
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----"
        r"(?:[\s\S]{0,20000}?-----END [A-Z ]*PRIVATE KEY-----|[\s\S]{0,20000})"
    ),
    "provider API key": r"\bsk-(?:ant-|proj-|or-)?[A-Za-z0-9_-]{16,}",
    "payment API key": r"\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}",
    "AWS access key": r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    "GitHub token": r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,})",
    "GitLab token": r"\bglpat-[A-Za-z0-9_-]{20,}",
    "Slack token": r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}",
    "Google API key": r"\bAIza[A-Za-z0-9_-]{35}",
    "JSON web token": r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
    "bearer token": r"(?i)\bbearer\s+[A-Za-z0-9._~+/-]{20,}=*",
    "URL password": r"(?<=://)[^\s/:@]+:[^\s/@]{3,}(?=@)",
    "named secret": (
        r"(?i)(?:\b|_)(?:api[_-]?key|secret|token|passw(?:or)?d|pwd|密码|口令|密钥)"
        r"\s{0,3}(?:=|:|：|is\b|是|为)\s{0,3}[\"'`]?(?!\(redacted)(?=[^\s\"'`]*[0-9])[^\s\"'`,;，。；]{8,}"
    ),
}
"""Patterns by name, the specific ones first. They follow the published shapes of each key."""

MARK: Final = "(redacted "
"""How what stands in place of a secret begins; the name of the pattern follows."""

_CARD: Final = re.compile(r"(?<![\d.-])(?:\d[ -]?){12,18}\d(?![\d.-])")
_CARD_NAME: Final = "payment card number"


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text without its secrets, and the names of the patterns that were found, sorted."""

    text: str
    found: tuple[str, ...]


class Redactor:
    """Finds secrets by pattern, and counts by name what it took out.

    Args:
        extra: further patterns of the user, by name.

    Raises:
        BadInput: an extra pattern is not a regular expression.
    """

    def __init__(self, extra: Mapping[str, str] | None = None) -> None:
        patterns = {**PATTERNS, **(extra or {})}
        self._patterns = {name: _compiled(name, pattern) for name, pattern in patterns.items()}
        self._patterns[_CARD_NAME] = _CARD
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    @property
    def counts(self) -> dict[str, int]:
        """How often a secret of each kind was taken out; never the secrets themselves."""
        with self._lock:
            return dict(self._counts)

    def redact(self, text: str, *, known: str = "") -> Redacted:
        """The text with every secret replaced by ``(redacted <pattern name>)``.

        Args:
            text: any text.
            known: an earlier version: secrets that stand in it stay.
        """
        found: Counter[str] = Counter()
        for name, pattern in self._patterns.items():

            def replace(match: re.Match[str], name: str = name) -> str:
                if match[0] in known or (name == _CARD_NAME and not _is_card(match[0])):
                    return match[0]
                found[name] += 1
                return f"{MARK}{name})"

            text = pattern.sub(replace, text)
        with self._lock:
            self._counts += found
        return Redacted(text, tuple(sorted(found)))


def _compiled(name: str, pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise BadInput(
            pattern, f"the secret pattern {name!r} is no regular expression: {error}", "Mend it."
        ) from error


def _is_card(text: str) -> bool:
    digits = [int(character) for character in text if character.isdigit()]
    return 13 <= len(digits) <= 19 and _luhn(digits)


def _luhn(digits: Sequence[int]) -> bool:
    """Whether the last digit checks (ISO/IEC 7812-1 annex B); all-equal numbers do not count."""
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0 and len(set(digits)) > 1
