"""Words that turn what is said into its opposite, end it, or cast doubt on it.

They are compared, never understood: a statement that took on one more of them says something else
now, whatever else it kept.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from agentscope_reme.files.markdown_scan import scan_markdown
from agentscope_reme.steps.dream.statements import Statement, core_of

_ENGLISH: Final = re.compile(
    r"n['’]t\b|\b(?:not|no|never|nor|neither|none|nobody|nothing|cannot|hardly|barely|rarely|false|"
    r"falsely|untrue|wrong|wrongly|incorrect|incorrectly|inaccurate|mistaken|mistakenly|invalid|"
    r"lie|lies|lied|den(?:y|ies|ied)|doubts?|doubted|doubtful|refut\w+|disprov\w+|retract\w+|"
    r"contrary|opposite|myth|rumou?rs?|allegedly|supposedly|unlikely|former|formerly|previously|"
    r"used to|stopped|ceased|quit|outdated|obsolete|superseded|cancell?ed|ignore|disregard)\b"
)
_CHINESE: Final = re.compile(
    r"不|没|沒|未|非|无|無|否|假|错|錯|误|誤|谎|謊|谣|謠|反对|反對|相反|停止|取消|作废|作廢|"
    r"过时|過時|失效|曾经|曾經|以前|据称|據稱|忽略|质疑|質疑|怀疑|懷疑"
)
_HARMLESS: Final = re.compile(
    r"\bnot only\b|\bno (?:doubt|matter|later than|less than|more than)\b|"
    r"不同|不仅|不僅|不但|不过|不過|不断|不斷|不少|不管|不久|非常|非洲|未来|未來|无论|無論|无锡|無錫|除非|"
    r"错落|錯落"
)
_LEADS: Final = (":", "：")


def denies(new: str, old: str) -> bool:
    """Whether one text has a word of denial more than another.

    Args:
        new: what is said now, in lower case.
        old: what was said.
    """
    return bool(_denials(new) - _denials(old))


def denying_leads(
    before: str, after: str, old: list[Statement], new: list[Statement]
) -> Iterator[str]:
    """New headings and lines that lead in to an old statement, and deny it.

    Args:
        before: the node until now.
        after: the node as proposed.
        old: its statements until now.
        new: its statements as proposed.
    """
    said = {statement.core for statement in old}
    leads = {one.last_line: one.text for one in new if one.text.rstrip().endswith(_LEADS)}
    leads |= {heading.line: heading.text for heading in scan_markdown(after).headings}
    known = [one.core for one in old]
    known += [core_of(heading.text) for heading in scan_markdown(before).headings]
    kept = sorted(one.last_line for one in new if one.core in said and one.last_line not in leads)
    for line, text in sorted(leads.items()):
        following = min((other for other in leads if other > line), default=None)
        is_above = any(line < one and (following is None or one <= following) for one in kept)
        is_new = not any(one and one in core_of(text) for one in known)  # old ones may grow
        if is_above and is_new and denies(core_of(text), ""):
            yield text


def _denials(text: str) -> Counter[str]:
    told = _HARMLESS.sub(" ", text.casefold())
    return Counter([*_ENGLISH.findall(told), *_CHINESE.findall(told)])
