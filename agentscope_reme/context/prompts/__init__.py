"""The prompts of the compactor: one Markdown file each, in English and Chinese."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from string import Template


@cache
def load_prompt(name: str, language: str) -> Template:
    """The prompt `name` in ``en`` or ``zh``, with ``$placeholders``."""
    text = (files(__package__) / f"{name}.{language}.md").read_text("utf-8")
    return Template(text.strip())
