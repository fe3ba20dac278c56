"""The prompts of typed memories, one file per language, beside what sends them."""

from __future__ import annotations

from string import Template

from agentscope_reme.prompts import read_prompt


def load_prompt(name: str, language: str) -> Template:
    """The prompt `name` in ``en`` or ``zh``, with ``$placeholders``."""
    return read_prompt(__name__, name, language)
