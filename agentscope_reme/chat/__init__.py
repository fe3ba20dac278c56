"""The terminal assistant: a conversation with an agent that remembers.

Importing this package loads next to nothing; AgentScope and the memory are loaded while the person
reads the first prompt.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["main"]


def main(words: Sequence[str]) -> int:
    """Run ``agentscope-reme chat``; the exit code.

    Args:
        words: what was written behind the command.

    Raises:
        ReMeError: a word is not usable, or the memory cannot be opened.
    """
    from agentscope_reme.chat.starting import run

    return run(words)
