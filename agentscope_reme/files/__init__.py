"""Files on disk: documents and their links, durable writes, locks, logs and the journal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentscope_reme.files.documents import MarkdownDocument
    from agentscope_reme.files.wikilinks import parse_wikilinks

__all__ = ["MarkdownDocument", "parse_wikilinks"]


def __getattr__(name: str) -> Any:
    # Late, so that importing one module of this room does not load YAML.
    if name == "MarkdownDocument":
        from agentscope_reme.files.documents import MarkdownDocument

        return MarkdownDocument
    if name == "parse_wikilinks":
        from agentscope_reme.files.wikilinks import parse_wikilinks

        return parse_wikilinks
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
