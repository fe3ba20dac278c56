"""What the terminal assistant is told about itself, in English and Chinese."""

from __future__ import annotations

from string import Template

from agentscope_reme.prompts import read_prompt


def load_prompt(name: str, language: str) -> Template:
    """The prompt `name` in ``en`` or ``zh``, with ``$placeholders``."""
    return read_prompt(__name__, name, language)
