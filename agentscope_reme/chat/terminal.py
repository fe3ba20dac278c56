"""A person at a terminal: the prompt at once, everything heavy while they read and type."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from prompt_toolkit import PromptSession
from prompt_toolkit.application import in_terminal
from prompt_toolkit.completion import WordCompleter
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input import Input
from prompt_toolkit.input.typeahead import get_typeahead, store_typeahead
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from rich.console import Console

from agentscope_reme.chat.commands import COMMANDS, Commands, is_command
from agentscope_reme.chat.display import Screen, visible
from agentscope_reme.chat.permission import Answer, Permissions, Question
from agentscope_reme.chat.signals import Ended, on_signals
from agentscope_reme.chat.words import say
from agentscope_reme.configuration import Configuration
from agentscope_reme.errors import ReMeError

if TYPE_CHECKING:
    from agentscope_reme.chat.assistant import Assistant

PROMPT: Final = "› "
_SHOWN_LINES: Final = {"write": 20}
_MOST_SHOWN_LINES: Final = 200
_ANSWERS: Final[dict[str, Answer]] = {
    "y": "yes",
    "yes": "yes",
    "n": "no",
    "no": "no",
    "": "no",
    "a": "always",
    "always": "always",
}


class Terminal:
    """A conversation with a person who sees and types.

    Args:
        configuration: model, memory and limits.
        folder: where the person is.
    """

    def __init__(self, configuration: Configuration, folder: Path) -> None:
        self._configuration = configuration
        self._language = configuration.language
        self._folder = folder
        console = Console(highlight=False)
        self._screen = Screen(console, console, self._language)
        self._loading: asyncio.Task[Assistant] | None = None
        self._loaded = asyncio.Event()
        self._work: asyncio.Task[Any] | None = None
        # What is typed is kept in memory only: /clear promises that nothing stays on the disk.
        self._session: PromptSession[str] = PromptSession(
            history=InMemoryHistory(),
            key_bindings=_keys(),
            completer=WordCompleter(list(COMMANDS), sentence=True),
            complete_while_typing=False,
            enable_history_search=True,
        )

    async def run(self) -> int:
        """Talk until the person leaves; the exit code."""
        self._screen.notice("welcome")
        self._session.app.after_render += lambda _: self._load_soon()
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a coroutine runs in one
        ended = Ended(task)
        with on_signals({signal.SIGINT: self._stop, **ended.handlers()}):
            try:
                return await self._talk()
            except (asyncio.CancelledError, OSError):  # OSError: a terminal that is gone
                if not ended.by:
                    raise
                await self._close()
                return ended.code

    async def _talk(self) -> int:
        while True:
            try:
                text = await self._prompted()
            except KeyboardInterrupt:
                self._screen.notice("leave_hint")
                continue
            except EOFError:
                break
            if text.strip() == "/exit":
                break
            if text.strip() and not await self._take(text):
                break
        return await self._leave()

    async def _prompted(self) -> str:
        telling = asyncio.get_running_loop().create_task(self._tell_above_the_prompt())
        try:
            return await self._session.prompt_async(PROMPT, handle_sigint=False)
        finally:
            telling.cancel()
            await asyncio.wait({telling})
            if not telling.cancelled() and (error := telling.exception()) is not None:
                self._failed(error)

    async def _tell_above_the_prompt(self) -> None:
        """Say how savings end while the person types."""
        await self._loaded.wait()
        assistant = await self._ready()
        while await assistant.memory.some_saving_ended():
            async with in_terminal():
                await assistant.tell_savings(self._screen)

    async def _take(self, text: str) -> bool:
        """Carry a line out; whether the conversation goes on."""
        try:
            await self._interruptible(self._carried_out(text))
        except _NotLoaded:
            return False  # told when leaving
        except Exception as error:  # noqa: BLE001 - the edge: a fault must not end a conversation
            self._failed(error)
        return True

    def _failed(self, error: BaseException) -> None:
        self._screen.failure(f"{type(error).__name__}: {error}")

    async def _carried_out(self, text: str) -> None:
        if is_command(text):
            done = await Commands(self._ready, self._screen, self._language).run(text)
            if done and text.split()[0] == "/clear":
                self._forget_typed()
            return
        assistant = await self._ready()
        await assistant.answer(text, self._screen)

    def _forget_typed(self) -> None:
        """Let the arrow keys bring nothing back either."""
        self._session.history = InMemoryHistory()
        self._session.default_buffer.history = self._session.history
        self._session.default_buffer.reset()

    def _load_soon(self) -> None:
        if self._loading is None:
            self._loading = asyncio.get_running_loop().create_task(self._load(), name="loading")

    async def _load(self) -> Assistant:
        permissions = Permissions(self._ask, self._configuration.chat.permission)
        assistant = await asyncio.to_thread(
            _imported, self._configuration, permissions, self._folder
        )
        self._resumed = await assistant.start()
        self._loaded.set()
        return assistant

    async def _ready(self) -> Assistant:
        """The assistant, waited for where it is not loaded yet."""
        self._load_soon()
        loading = self._loading
        assert loading is not None  # noqa: S101 - made by the line before
        if not loading.done():
            self._screen.waiting("loading")
        try:
            assistant = await asyncio.shield(loading)
        except ReMeError as error:
            raise _NotLoaded from error
        finally:
            self._screen.quiet()
        if self._resumed:
            self._resumed = False
            messages = assistant.conversation.messages
            at = messages[-1].created_at
            when = f"{at:%Y-%m-%d %H:%M}" if at else "?"
            self._screen.notice("resumed", when=when, count=len(messages))
        return assistant

    async def _interruptible(self, work: Coroutine[Any, Any, None]) -> None:
        """Run something that Ctrl-C stops, and nothing else."""
        task = self._work = asyncio.get_running_loop().create_task(work)
        try:
            await self._ended(task)
            if task.cancelled():
                self._screen.notice("stopped")
            else:
                task.result()
        finally:
            self._work = None
            self._screen.quiet()

    async def _ended(self, task: asyncio.Task[Any]) -> None:
        """Wait for a task, whatever became of it; who is cancelled meanwhile stops it first."""
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            self._stop()
            await asyncio.wait({task})
            raise

    def _stop(self) -> None:
        """Stop the work, once: a second Ctrl-C must not cut off the keeping of what was said."""
        work = self._work
        if work is not None and not work.cancelling():
            work.cancel()

    async def _ask(self, question: Question) -> Answer:
        self._screen.quiet()
        self._screen.plain(question.what.replace("\n", "�"), "bold yellow")  # names may hold lines
        self._screen.plain(_shown(question, self._language))
        session: PromptSession[str] = PromptSession()
        with _typed_ahead_aside(session.input):
            answer = await self._answer(session)
        if answer != "no":
            self._screen.waiting("running")
        return answer

    async def _answer(self, session: PromptSession[str]) -> Answer:
        while True:
            try:
                text = await session.prompt_async(say("allow", self._language), handle_sigint=False)
            except EOFError:
                return "no"
            except KeyboardInterrupt:
                self._stop()
                await asyncio.Event().wait()  # until the tool that asked is stopped, too
                return "no"
            answer = _ANSWERS.get(text.strip().casefold())
            if answer is not None:
                return answer

    async def _leave(self) -> int:
        if self._loading is None:
            return 0
        try:
            assistant = await self._ready()
        except _NotLoaded as error:
            self._screen.failure(error.__cause__)
            return 1
        await self._interruptible(self._saved(assistant))
        left = assistant.memory.saving
        if left:
            self._screen.notice("left_for_later", left=left)
        await assistant.close()
        self._screen.notice("bye")
        return 0

    async def _close(self) -> None:
        """Close without a word; what waits to be saved is saved at the next start."""
        if self._loading is not None:
            with contextlib.suppress(ReMeError):
                await (await self._loading).close()

    async def _saved(self, assistant: Assistant) -> None:
        async for left in assistant.memory.saved():
            self._screen.waiting("finishing", left=left)
        self._screen.quiet()
        await assistant.tell_savings(self._screen)

    _resumed = False


class _NotLoaded(Exception):
    """The assistant could not be made; the cause says why."""


def _imported(configuration: Configuration, permissions: Permissions, folder: Path) -> Assistant:
    from agentscope_reme.chat.loading import assistant_of

    return assistant_of(configuration, permissions, folder)


def _keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("escape", "enter")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return keys


def _shown(question: Question, language: str) -> str:
    lines = visible(question.detail).split("\n")
    most = _SHOWN_LINES.get(question.kind, _MOST_SHOWN_LINES)
    if len(lines) <= most:
        return "\n".join(lines)
    return "\n".join([*lines[:most], say("more_lines", language, count=len(lines) - most)])


@contextlib.contextmanager
def _typed_ahead_aside(entered: Input) -> Iterator[None]:
    """Keep what was typed so far for the next prompt: it answers no question nobody had seen."""
    with entered.raw_mode():
        typed = get_typeahead(entered)
        while keys := entered.read_keys() + entered.flush_keys():
            typed += keys
    try:
        yield
    finally:
        store_typeahead(entered, typed)
