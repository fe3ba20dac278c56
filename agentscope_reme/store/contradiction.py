"""What shows that memory and database disagree."""

from __future__ import annotations


class Contradiction(LookupError):
    """Memory and database disagree about the index; reading it anew settles that."""
