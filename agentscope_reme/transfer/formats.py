"""The foreign formats, and which of them a source has."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from agentscope_reme.errors import BadInput
from agentscope_reme.transfer.chatgpt import CHATGPT
from agentscope_reme.transfer.claude import CLAUDE
from agentscope_reme.transfer.found import Format
from agentscope_reme.transfer.locomo import LOCOMO
from agentscope_reme.transfer.mem0 import MEM0
from agentscope_reme.transfer.obsidian import OBSIDIAN
from agentscope_reme.transfer.sources import Source
from agentscope_reme.transfer.workspaces import REME

FORMATS: Final[Mapping[str, Format]] = MappingProxyType(
    {known.name: known for known in (CHATGPT, CLAUDE, LOCOMO, MEM0, REME, OBSIDIAN)}
)
"""By name, the surest first: any folder of notes could be a vault."""

AUTO: Final = "auto"


def format_of(source: Source, name: str = AUTO) -> Format:
    """The format of a name, or the one the source looks like.

    Raises:
        BadInput: there is no such format, or it looks like none.
    """
    if name != AUTO:
        if name not in FORMATS:
            raise BadInput(name, "no such format", f"Choose among {AUTO}, {', '.join(FORMATS)}.")
        return FORMATS[name]
    for known in FORMATS.values():
        if known.recognises(source):
            return known
    raise BadInput(
        str(source.place), "it looks like no known format", f"Pass format={'|'.join(FORMATS)}."
    )
