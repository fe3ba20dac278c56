"""Where a Markdown text is an example or invisible: code blocks, inline code, HTML comments."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final

from agentscope_reme.files.markdown_scan import MarkdownScan

# Every branch starts with a plain character: the engine then skips to the next candidate at once.
_INLINE: Final = re.compile(r"\\\\*|``*|<!--")
_BACKTICKS: Final = re.compile("`+")


def hidden_spans(scan: MarkdownScan, positions: Sequence[int]) -> list[tuple[int, int]]:
    """Hidden stretches of the text, as sorted character offsets.

    Args:
        scan: the block structure of the text.
        positions: ascending offsets of interest; inline code is looked for only in the
            paragraphs around them.
    """
    offsets = scan.offsets
    spans = [(offsets[first - 1], offsets[last]) for first, last in scan.code]
    if "`" in scan.text or "<!--" in scan.text:
        spans += _inline_spans(scan, offsets, positions)
        spans.sort()
    return spans


def _inline_spans(
    scan: MarkdownScan, offsets: Sequence[int], positions: Sequence[int]
) -> Iterator[tuple[int, int]]:
    starts = scan.leaf_starts
    code_lines = {first for first, _ in scan.code}
    done = -1
    for position in positions:
        if position < done:
            continue
        line = bisect_right(offsets, position)
        index = bisect_right(starts, line)
        first = starts[index - 1] if index else 1
        last = starts[index] if index < len(starts) else len(scan.lines) + 1
        done = offsets[last - 1]
        if first not in code_lines:
            yield from _spans_in(scan.text, offsets[first - 1], done)


def _spans_in(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Code spans and comments of one paragraph, leftmost first, as CommonMark pairs them."""
    if text.find("`", start, end) < 0 and text.find("<!--", start, end) < 0:
        return
    closers: dict[int, list[int]] | None = None
    no_comment_from = end
    position = start
    while (found := _INLINE.search(text, position, end)) is not None:
        position = found.end()
        if text[found.start()] == "\\":
            # An odd backslash escapes the next character.
            position += (found.end() - found.start()) % 2
        elif text[found.start()] == "<":
            close = text.find("-->", found.start() + 2, end) if position <= no_comment_from else -1
            if close < 0:
                no_comment_from = min(no_comment_from, found.start())
            else:
                position = close + 3
                yield found.start(), position
        else:
            width = found.end() - found.start()
            following = _BACKTICKS.search(text, position, end)
            if following is not None and following.end() - following.start() == width:
                position = following.end()
                yield found.start(), position
                continue
            closers = _runs(text, start, end) if closers is None else closers
            run = closers.get(width, [])
            index = bisect_right(run, found.start())
            if index < len(run):
                position = run[index] + width
                yield found.start(), position


def _runs(text: str, start: int, end: int) -> dict[int, list[int]]:
    """Where the runs of backticks of each length start."""
    runs: dict[int, list[int]] = {}
    for match in _BACKTICKS.finditer(text, start, end):
        runs.setdefault(match.end() - match.start(), []).append(match.start())
    return runs
