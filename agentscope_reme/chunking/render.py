"""What a chunk looks like to a reader: its lines, and around them where they stand in the file."""

from __future__ import annotations

from agentscope_reme.schema import FileChunk


def render(chunk: FileChunk) -> str:
    """A chunk's text for display.

    Above the text stand the headings it is under and is not showing itself, and ``[Part X/N]``
    when its section was split; next to it the repeated header rows or code fences; below it the
    heading that follows. Those lines come from ``chunk.metadata``:

    - ``skeleton``: ``{"above": [lines], "below": [lines]}``
    - ``part`` and ``parts``: which piece of its section this is, from 1
    - ``repeated``: ``{"above": [lines], "below": [lines]}``
    """
    metadata = chunk.metadata
    skeleton = metadata.get("skeleton", {})
    repeated = metadata.get("repeated", {})
    body = "\n".join([*repeated.get("above", ()), chunk.text, *repeated.get("below", ())])
    paragraphs = list(skeleton.get("above", ()))
    if metadata.get("parts", 1) > 1:
        paragraphs.append(f"[Part {metadata['part']}/{metadata['parts']}]")
    return "\n\n".join([*paragraphs, body, *skeleton.get("below", ())])
