"""Draws the architecture diagram of the bundled conversation and puts it into its JSON file.

Run it only after changing the drawing; it needs Pillow, which nothing else here does::

    python examples/conversation/draw_diagram.py
"""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path

from PIL import Image, ImageDraw

HERE = Path(__file__).resolve().parent
BOXES = ("Gateway", "Queue", "Worker", "PostgreSQL")
BOX_WIDTH, BOX_HEIGHT, GAP = 84, 36, 28


def draw() -> bytes:
    """The diagram as PNG bytes: four boxes in a row, an arrow between neighbours."""
    width = len(BOXES) * BOX_WIDTH + (len(BOXES) + 1) * GAP
    picture = Image.new("1", (width, BOX_HEIGHT + 2 * GAP), 1)
    pen = ImageDraw.Draw(picture)
    middle = GAP + BOX_HEIGHT // 2
    for index, label in enumerate(BOXES):
        left = GAP + index * (BOX_WIDTH + GAP)
        pen.rectangle((left, GAP, left + BOX_WIDTH, GAP + BOX_HEIGHT), outline=0, width=2)
        pen.text((left + 8, middle - 6), label, fill=0)
        if index:
            pen.line((left - GAP, middle, left - 3, middle), fill=0, width=2)
            pen.polygon(((left - 9, middle - 5), (left - 9, middle + 5), (left - 2, middle)), 0)
    out = io.BytesIO()
    picture.save(out, "PNG", optimize=True)
    return out.getvalue()


def main() -> None:
    """Replace the Base64 of every image in ``conversation.json``."""
    place = HERE / "conversation.json"
    conversation = json.loads(place.read_text(encoding="utf-8"))
    encoded = base64.b64encode(draw()).decode("ascii")
    for session in conversation["sessions"]:
        for message in session["messages"]:
            for part in message["content"] if isinstance(message["content"], list) else ():
                if part["type"] == "image":
                    part["source"]["data"] = encoded
    text = json.dumps(conversation, ensure_ascii=False, indent=2)
    place.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
