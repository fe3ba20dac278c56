"""``/horse``: fireworks, a horse that runs across the terminal, and a blessing."""

from __future__ import annotations

import asyncio
import secrets
from typing import Final

from agentscope_reme.chat.display import Screen

_BLESSINGS: Final = {
    "en": (
        "May your tests pass before the tea is cold.",
        "May every road you gallop down be downhill.",
        "May you find what you wrote down, and have written down what you seek.",
        "Swift hooves, a clear head, and no merge conflicts.",
        "May good news reach you at full gallop.",
    ),
    "zh": (
        "愿你一路疾驰，所到皆坦途。",
        "愿好消息快马加鞭，先你一步到家。",
        "愿你记下的都用得上，想找的都记着。",
        "马蹄轻快，思路清楚，代码一次就过。",
        "春风得意，策马扬鞭，诸事顺心。",
    ),
}

_SPARKS: Final = (
    ("    .    ", "         ", "    |    "),
    ("  \\ | /  ", "  - * -  ", "  / | \\  "),
    (" .  '  . ", "'   *   '", " .  '  . "),
)
_STRIDES: Final = (
    ("      ,~~^", " ~(____/'~", "  //  \\\\  "),
    ("      ,~~^", " ~(____/'~", "  \\\\  //  "),
)
_STEP: Final = 3
_FRAME_SECONDS: Final = 0.04
_WIDEST: Final = 48


async def celebrate(screen: Screen, language: str) -> None:
    """Show all of it; without a terminal, only the blessing."""
    width = min(screen.width, _WIDEST)
    if screen.is_terminal and width > len(_STRIDES[0][0]):
        for sparks in _SPARKS:
            await screen.frame([line.center(width) for line in sparks], _FRAME_SECONDS * 5)
        for place in range(0, width - len(_STRIDES[0][0]), _STEP):
            stride = _STRIDES[place // _STEP % len(_STRIDES)]
            await screen.frame([" " * place + line for line in stride], _FRAME_SECONDS)
        screen.quiet()
        await asyncio.sleep(0)
    blessings = _BLESSINGS["zh" if language == "zh" else "en"]
    screen.plain(secrets.choice(blessings), "bold yellow")
