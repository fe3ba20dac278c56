"""Files on disk: documents and their links, durable writes, locks, logs and the journal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentscope_reme.late_names import late_names

if TYPE_CHECKING:
    from agentscope_reme.files.documents import MarkdownDocument
    from agentscope_reme.files.wikilinks import parse_wikilinks

__all__ = ["MarkdownDocument", "parse_wikilinks"]

# Late, so that importing one module of this room does not load YAML.
__getattr__, __dir__ = late_names(
    __name__, {"documents": "MarkdownDocument", "wikilinks": "parse_wikilinks"}
)
