"""The working memory of one conversation, as CoPaw hosts know it."""

from __future__ import annotations

from typing import Any

from agentscope_reme.agentscope_v1.window_memory import WindowMemory


class CoPawInMemoryMemory(WindowMemory):
    """AgentScope's `InMemoryMemory` that counts tokens, hides what was compressed and is saved.

    Compressed messages stay in it, and in its saved state, with the mark ``compressed``; no prompt
    shows them. Nothing is written to any file.

    Args:
        token_counter: counts tokens by its ``tokenizer.encode(text)``; without one, or when it
            fails, sizes are estimated.
        formatter: the formatter of the agent's model; kept for hosts that look it up.
        max_input_length: the model's window in tokens; 0 when it is not known.
        language: ``zh`` for Chinese words around the summary; English otherwise.
    """

    def __init__(
        self,
        token_counter: Any = None,
        formatter: Any = None,
        max_input_length: int = 0,
        *,
        language: str = "",
    ) -> None:
        super().__init__(
            token_counter=token_counter, max_input_length=max_input_length, language=language
        )
        self.token_counter = token_counter
        self.formatter = formatter
