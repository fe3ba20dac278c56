"""How prompts are kept: one Markdown file each, beside the code that sends them."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from string import Template
from typing import Final

from agentscope_reme.errors import BadInput

LANGUAGES: Final = ("en", "zh")


@cache
def read_prompt(package: str, name: str, language: str) -> Template:
    """The prompt ``<name>.<language>.md`` of a package, with ``$placeholders``.

    Raises:
        BadInput: the language is not one of `LANGUAGES`.
    """
    if language not in LANGUAGES:
        raise BadInput(language, "no prompts in this language", f"Use {' or '.join(LANGUAGES)}.")
    return Template((files(package) / f"{name}.{language}.md").read_text("utf-8").strip())
