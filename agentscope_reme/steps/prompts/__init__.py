"""The prompts of the steps: one Markdown file each, in English and Chinese."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from string import Template

from agentscope_reme.errors import BadInput

LANGUAGES = ("en", "zh")


@cache
def load_prompt(name: str, language: str) -> Template:
    """The prompt `name` in a language, with ``$placeholders``.

    Raises:
        BadInput: the language is not one of `LANGUAGES`.
    """
    if language not in LANGUAGES:
        raise BadInput(language, "no prompts in this language", f"Use one of {LANGUAGES}.")
    return Template((files(__package__) / f"{name}.{language}.md").read_text("utf-8"))
