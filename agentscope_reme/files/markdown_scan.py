"""The block structure of a Markdown text, found line by line.

A linear scanner in the manner of the CommonMark block phase (https://spec.commonmark.org/0.31.2/,
appendix "A parsing strategy"). It knows what memory files need: headings, fenced and indented
code, HTML comments, lists, quotes and tables. Lines end at a line feed
only; U+2028 and U+0085 are text.
"""

from __future__ import annotations

from agentscope_reme.files.block_scanner import BlockScanner
from agentscope_reme.files.front_matter import FrontMatterBlock, find_front_matter
from agentscope_reme.files.markdown_blocks import Block, BlockKind, Heading, MarkdownScan

__all__ = ["Block", "BlockKind", "Heading", "MarkdownScan", "scan_markdown"]


def scan_markdown(text: str, *, front_matter: FrontMatterBlock | None = None) -> MarkdownScan:
    """Find the blocks of a whole file.

    Args:
        text: the file, front matter included; a byte order mark is skipped.
        front_matter: the block, when it was already found.
    """
    block = front_matter or find_front_matter(text)
    lines = text.split("\n")
    body_line = text.count("\n", 0, block.body_start) + 1 if block is not None else 1
    scan = MarkdownScan(text, lines, block, body_line)
    BlockScanner(scan).run()
    return scan
