"""Without a terminal: what comes through standard input is answered, then the process ends."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from rich.console import Console

from agentscope_reme.chat.assistant import Assistant
from agentscope_reme.chat.commands import COMMANDS, Commands, is_command
from agentscope_reme.chat.display import Screen
from agentscope_reme.chat.loading import assistant_of
from agentscope_reme.chat.permission import Permissions
from agentscope_reme.chat.signals import Ended, on_signals
from agentscope_reme.configuration import Configuration
from agentscope_reme.errors import StorageFailed

_LEAVE: Final = "/exit"


async def run_piped(configuration: Configuration, folder: Path, text: str) -> int:
    """Answer a text; the exit code.

    Answers go to standard output, everything else to standard error. A conversation of its own is
    held: none is gone on with, and none is left to be gone on with.

    Args:
        configuration: model, memory and limits.
        folder: where the person is.
        text: what was said; lines that are commands stand for themselves.

    Raises:
        ReMeError: the memory or the model cannot be used.
    """
    task = asyncio.current_task()
    assert task is not None  # noqa: S101 - a coroutine runs in one
    ended = Ended(task)
    with on_signals(ended.handlers()):
        try:
            return await _answered(configuration, folder, text)
        except asyncio.CancelledError:
            if not ended.by:
                raise
            return ended.code


async def _answered(configuration: Configuration, folder: Path, text: str) -> int:
    language = configuration.language
    screen = Screen(Console(highlight=False), Console(file=sys.stderr, highlight=False), language)
    permissions = Permissions(None, configuration.chat.permission)
    assistant = assistant_of(configuration, permissions, folder)
    await assistant.start(resume=False)

    async def ready() -> Assistant:
        return assistant

    commands = Commands(ready, screen, language)
    done = True
    try:
        for part in parts_of(text):
            if part == _LEAVE:
                break
            if is_command(part):
                done = await commands.run(part) and done
            else:
                done = await assistant.answer(part, screen) and done
        async for _ in assistant.memory.saved():
            pass
        done = await assistant.tell_savings(screen) and done
        screen.quiet()
    except BrokenPipeError:
        raise  # whoever listened has heard enough
    except OSError as error:  # the model and the memory have errors of their own
        raise StorageFailed(
            "standard output", f"it takes no more: {error}", "Look at where it goes to."
        ) from error
    finally:
        await assistant.close()
    return 0 if done else 1


def parts_of(text: str) -> Iterator[str]:
    """The commands of a text, and the messages that stand between them."""
    said: list[str] = []
    for line in text.replace("\r\n", "\n").split("\n"):
        if line.split(maxsplit=1)[:1] and line.split(maxsplit=1)[0] in COMMANDS:
            if "\n".join(said).strip():
                yield "\n".join(said).strip()
            said = []
            yield line.strip()
        else:
            said.append(line)
    if "\n".join(said).strip():
        yield "\n".join(said).strip()
