"""The words of a text, for engines that cannot cut Chinese: lower case, and jieba's words."""

from __future__ import annotations

import re
from typing import Final

from rjieba import cut_for_search

_RUNS: Final = re.compile(r"[\u4e00-\u9fff]+|[^\W\u4e00-\u9fff]+")


def words(text: str) -> list[str]:
    """Every word, in order."""
    found: list[str] = []
    for run in _RUNS.findall(text.lower()):
        if "\u4e00" <= run[0] <= "\u9fff":
            found += cut_for_search(run)
        else:
            found.append(run)
    return found
