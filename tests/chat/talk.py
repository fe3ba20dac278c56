"""A conversation in this process: a real assistant, a real model client, a provider on loopback."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

from agentscope_reme.chat.assistant import Assistant
from agentscope_reme.chat.loading import assistant_of
from agentscope_reme.chat.permission import Answer, Permissions, Question
from agentscope_reme.configuration import load
from agentscope_reme.messages import Message
from agentscope_reme.ports import Delta
from tests.loopback import LoopbackProvider, Reply, Request

CHECKPOINT = """\
## Goal
{goal}

## Constraints & Preferences
(none)

## Progress
### Done
- [x] talked

### In Progress
(none)

### Blocked
(none)

## Key Decisions
- **Tea**: green

## Next Steps
1. Drink it

## Critical Context
(none)
"""


class Seen:
    """A watcher that remembers."""

    def __init__(self) -> None:
        self.words = ""
        self.thoughts = ""
        self.messages: list[Message] = []
        self.notices: list[tuple[str, dict[str, object]]] = []
        self.failures: list[str] = []

    def said(self, piece: Delta) -> None:
        if piece.thinking:
            self.thoughts += piece.text
        else:
            self.words += piece.text

    def spoke(self, message: Message) -> None:
        self.messages.append(message)

    def notice(self, name: str, /, **values: object) -> None:
        self.notices.append((name, values))

    def failure(self, text: object) -> None:
        self.failures.append(str(text))

    def waiting(self, name: str, /, **values: object) -> None:
        """Nobody looks at it."""

    @property
    def told(self) -> list[str]:
        """The names of the notices."""
        return [name for name, _ in self.notices]


class Talk:
    """An assistant, what was asked of the person, and what they answer."""

    def __init__(self, assistant: Assistant, provider: LoopbackProvider) -> None:
        self.assistant = assistant
        self.provider = provider
        self.seen = Seen()
        self.questions: list[Question] = []
        self.answers: list[Answer] = []
        self.is_open = True

    @classmethod
    async def begin(
        cls, provider: LoopbackProvider, folder: Path, *, resume: bool = True, **words: object
    ) -> Self:
        """Open one in a folder; words are keys of the configuration, `__` for a dot."""
        given = {name.replace("__", "."): str(value) for name, value in words.items()}
        configuration = load(
            {"workspace_dir": str(folder / ".reme"), "config": "cli", **given},
            environ={"REME_LLM_API_KEY": "k", "REME_LLM_BASE_URL": provider.openai_url},
            folder=folder,
        )
        talk: Self

        async def ask(question: Question) -> Answer:
            talk.questions.append(question)
            return talk.answers.pop(0)

        permissions = Permissions(ask, configuration.chat.permission)
        talk = cls(assistant_of(configuration, permissions, folder), provider)
        talk.resumed = await talk.assistant.start(resume=resume)
        return talk

    resumed = False

    @property
    def root(self) -> Path:
        """The workspace."""
        return self.assistant.memory.parts.workspace.root

    async def say(self, text: str) -> str:
        """Say something; what the model answered."""
        before = len(self.seen.words)
        await self.assistant.answer(text, self.seen)
        return self.seen.words[before:]

    async def call(self, name: str, **arguments: Any) -> str:
        """Let the model call a tool once; what it was told."""
        self.provider.reply(tool_calls=[(name, arguments)]).reply("ok")
        await self.say(f"use {name}")
        return tool_answers(self.provider.chats[-1])[-1]

    async def saved(self) -> None:
        """Wait for the background."""
        async for _ in self.assistant.memory.saved():
            pass

    async def close(self) -> None:
        """Close it; a second time does nothing."""
        if self.is_open:
            self.is_open = False
            await self.assistant.close()


def tool_answers(request: Request) -> list[str]:
    """What tools had answered when the model was asked."""
    return [
        text
        for message, text in zip(request.messages, request.texts, strict=True)
        if message["role"] == "tool"
    ]


def is_summary_run(request: Request) -> bool:
    """Whether the background asks: what is worth noting?"""
    return "write" in request.tool_names and "memory_search" not in request.tool_names


def is_checkpoint_call(request: Request) -> bool:
    """Whether a summary of the window is asked for."""
    return not request.tool_names


def noting(*, note: str = "- a note", goal: str = "Tea") -> Any:
    """A model that makes checkpoints, writes a note of the day and answers `fine` otherwise."""

    def respond(request: Request) -> Reply:
        if is_checkpoint_call(request):
            return Reply(text=CHECKPOINT.format(goal=goal))
        if is_summary_run(request):
            if tool_answers(request):
                return Reply(text="Noted.")
            prompt = request.texts[-1]
            path = prompt[prompt.index("memory/") :].split("`")[0]
            return Reply(
                tool_calls=(_call("write", {"path": path, "content": f"# Notes\n\n{note}\n"}),)
            )
        return Reply(text="fine")

    return respond


def _call(name: str, arguments: dict[str, Any]) -> Any:
    from tests.loopback import ToolCall

    return ToolCall(name, arguments)
