"""What a model's formatter can carry."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any


def supports_images(model: Any) -> bool:
    """Whether images in a prompt reach the provider.

    Formatters speak for a provider, not for one model: a text model of a provider with vision
    models is reported as seeing, and refuses the call by itself.
    """
    formatter = getattr(model, "formatter", None)
    accepted = getattr(formatter, "supported_input_media_types", ())
    return any(kind.startswith("image/") or fnmatchcase("image/png", kind) for kind in accepted)
