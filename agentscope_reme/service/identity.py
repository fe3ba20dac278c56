"""How a service proves, before it is told anything, that it is the one whose address stands there.

A port is no name: when a service is killed, any program, also of another person, may listen where
it did. Whoever read the address sends random characters first; only a process that knows the secret
beside the address, in a file that one person can read, answers with their HMAC (RFC 2104).
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Final

CHALLENGE: Final = "x-reme-challenge"
"""The header of a request that wants a proof."""

PROOF: Final = "x-reme-proof"
"""The header of its answer."""

_MOST_CHARACTERS: Final = 128


def fresh() -> str:
    """Random characters: a secret, or a challenge."""
    return secrets.token_urlsafe(32)


def proof_of(secret: str, challenge: str) -> str:
    """What who knows the secret answers to a challenge; nothing to one that is none."""
    if not secret or not 0 < len(challenge) <= _MOST_CHARACTERS:
        return ""
    return hmac.new(secret.encode(), challenge.encode("utf-8"), hashlib.sha256).hexdigest()


def is_proven(secret: str, challenge: str, proof: str) -> bool:
    """Whether an answer proves that who gave it knows the secret."""
    expected = proof_of(secret, challenge)
    return bool(expected) and hmac.compare_digest(expected.encode(), proof.encode("utf-8"))
