"""What a chunk is searched as; the column ``searchable`` of its row says so, with 0 for never."""

from __future__ import annotations

from typing import Final

AS_TEXT: Final = 1
"""A passage: its text is embedded."""
AS_PICTURE: Final = 2
"""A picture file: its bytes are embedded, by a model that takes pictures."""
PICTURE: Final = "picture"
"""Key in the metadata of such a chunk: its media type."""
